// SPDX-License-Identifier: Apache-2.0 OR MIT
// Looks for faults of layout in the page that it is part of. It appends an element with the id "layout" to the page:
// a line about the window, a line for each fault, and "done".
(() => {
  const faults = [];
  const width = document.documentElement.clientWidth;
  const LEAST_CONTRAST = 4.5; // WCAG 2.1, success criterion 1.4.3
  const LEAST_SIZE = 11.5; // pixels
  const name = (text) => JSON.stringify(text.trim().replace(/\s+/g, " ").slice(0, 50));
  const fault = (kind, text, detail) => faults.push(`${kind}: ${name(text)} ${detail}`);

  for (const details of document.querySelectorAll("details")) details.open = true;

  const scroller = document.scrollingElement;
  if (scroller.scrollWidth > width) faults.push(`horizontal scroll: ${scroller.scrollWidth} of ${width} pixels`);

  // A colour of the style as red, green, blue (0 to 255) and alpha (0 to 1).
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const parsed = new Map();
  const colour = (text) => {
    if (!parsed.has(text)) {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = text;
      canvas.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
      parsed.set(text, [r, g, b, a / 255]);
    }
    return parsed.get(text);
  };
  const over = (top, below) => top.slice(0, 3).map((part, i) => part * top[3] + below[i] * (1 - top[3])).concat(1);
  const background = (element) => {
    if (!element) return [255, 255, 255, 1];
    const own = colour(getComputedStyle(element).backgroundColor);
    return own[3] === 1 ? own : over(own, background(element.parentElement));
  };
  const luminance = (rgb) => {
    const [r, g, b] = rgb.map((part) => {
      const share = part / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (one, other) => {
    const [dark, bright] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (bright + 0.05) / (dark + 0.05);
  };
  const place = (box) => [box.left, box.top, box.right, box.bottom].map(Math.round).join(" ");
  const clips = (element) => getComputedStyle(element).overflowX !== "visible";
  const inside = (box, outer) => box.left >= outer.left - 1 && box.right <= outer.right + 1 && box.top >= outer.top - 1 && box.bottom <= outer.bottom + 1;

  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let texts = 0;
  while (walker.nextNode()) {
    const node = walker.currentNode;
    const parent = node.parentElement;
    if (!node.data.trim() || parent.closest("script, style")) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const boxes = [...range.getClientRects()];
    if (boxes.length === 0) {
      fault("not shown", node.data, "");
      continue;
    }
    texts += 1;
    for (const box of boxes) {
      if (box.left < -1 || box.right > width + 1) fault("outside the window", node.data, `${box.left} to ${box.right}`);
      for (let outer = parent; outer && outer !== document.body; outer = outer.parentElement) {
        const isPlot = outer.localName === "svg";
        if ((isPlot || outer.localName === "figure" || outer.localName === "td" || clips(outer)) && !inside(box, outer.getBoundingClientRect())) {
          fault("outside its box", node.data, `${place(box)} of ${outer.localName} ${place(outer.getBoundingClientRect())}`);
        }
      }
    }
    const style = getComputedStyle(parent);
    const plot = parent.closest("svg");
    const below = background(plot ? plot.parentElement : parent);
    const ink = over(colour(plot ? style.fill : style.color), below);
    const ratio = contrast(ink, below);
    if (ratio < LEAST_CONTRAST) fault("little contrast", node.data, ratio.toFixed(2));
    const scale = plot ? plot.getBoundingClientRect().width / plot.viewBox.baseVal.width : 1;
    const size = parseFloat(style.fontSize) * scale;
    if (size < LEAST_SIZE) fault("small", node.data, `${size.toFixed(1)} pixels`);
  }

  for (const element of document.body.querySelectorAll("*")) {
    if (!element.closest("svg") && clips(element) && element.scrollWidth > element.clientWidth + 1) fault("scrolls", element.textContent, element.localName);
  }
  for (const svg of document.querySelectorAll("svg")) {
    const labels = [...svg.querySelectorAll("text")].filter((text) => text.textContent.trim());
    const boxes = labels.map((text) => text.getBoundingClientRect());
    for (let i = 0; i < boxes.length; i++) {
      for (let j = 0; j < i; j++) {
        const across = Math.min(boxes[i].right, boxes[j].right) - Math.max(boxes[i].left, boxes[j].left);
        const down = Math.min(boxes[i].bottom, boxes[j].bottom) - Math.max(boxes[i].top, boxes[j].top);
        // Boxes of lines have room above and below their letters.
        if (across > 0 && down > 3) fault("texts meet", labels[i].textContent, name(labels[j].textContent));
      }
    }
  }

  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const report = document.createElement("pre");
  report.id = "layout";
  report.textContent = [`window: ${innerWidth} pixels, ${dark ? "dark" : "light"}, ${texts} texts`, ...faults, "done"].join("\n");
  document.body.append(report);
})();
