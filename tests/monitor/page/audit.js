// Of each text that is seen the contrast with what is behind it (WCAG 2, 1.4.3), and controls without a name (4.1.2).
() => {
  const parse = (text) => {
    const n = text.match(/[\d.]+/g)?.map(Number) ?? [0, 0, 0, 0];
    const scale = text.startsWith("color(srgb") ? 255 : 1;
    return [n[0] * scale, n[1] * scale, n[2] * scale, n[3] ?? 1];
  };
  const linear = (c) => (c / 255 <= 0.03928 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4);
  const luminance = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const over = (top, below) => top.slice(0, 3).map((c, i) => c * top[3] + below[i] * (1 - top[3])).concat(1);
  const ground = (element) =>
    element.matches("g.node, g.queue") ? getComputedStyle(element.querySelector(".card, rect")).fill : getComputedStyle(element).backgroundColor;
  const behind = (element) => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) {
      layers.push(parse(ground(at)));
      if (layers.at(-1)[3] === 1) break;
    }
    return layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255, 1]);
  };
  const low = [], nameless = [];
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    const style = getComputedStyle(element);
    if (!own || !element.getClientRects().length || style.visibility === "hidden" || element.closest("script, title, option")) continue;
    const back = behind(element);
    const front = over(parse(element instanceof SVGElement ? style.fill : style.color), back);
    const [a, b] = [luminance(front), luminance(back)].sort((x, y) => y - x);
    const contrast = (a + 0.05) / (b + 0.05);
    if (contrast < 4.5) low.push(`${contrast.toFixed(2)} ${element.outerHTML.slice(0, 80)}`);
  }
  for (const control of document.querySelectorAll("button, input, select, textarea, [role=button], [role=tab], [role=radio]")) {
    const name = control.getAttribute("aria-label") || control.textContent.trim() || control.closest("label")?.textContent.trim();
    if (!name) nameless.push(control.outerHTML.slice(0, 80));
  }
  return { low, nameless };
}
