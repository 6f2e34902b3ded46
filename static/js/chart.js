// Draws a chart from JSON that the server wrote with json_script, beside its data table:
//   {"x": [..], "x_label": "..", "x_unit": "time" | "", "series": [{"label": "..", "values": [..]}], "y_from_zero": true}
// uPlot (a plain script) must be loaded before.

const LEGEND_HEIGHT = 28;
const Y_AXIS_WIDTH = 56;
const X_LABEL_SPACE = 80;
const PAD_RATIO = 0.1;
const MAX_MARKED_POINTS = 31;

// A custom property may hold light-dark(...): let the browser resolve it to one colour.
function colour(host, name) {
  const probe = document.createElement("span");
  probe.style.color = `var(${name})`;
  host.append(probe);
  const value = getComputedStyle(probe).color;
  probe.remove();
  return value;
}

const clock = (seconds) => new Date(seconds * 1000).toLocaleTimeString("en-GB");

function options(host, spec) {
  const isTime = spec.x_unit === "time";
  const styles = getComputedStyle(host);
  const muted = colour(host, "--text-muted");
  const line = { stroke: colour(host, "--line"), width: 1 };
  const axis = { stroke: muted, font: `${styles.getPropertyValue("--size-small")} ${styles.fontFamily}`, grid: line, ticks: line };
  const fromZero = (_plot, low, high) => [Math.min(0, low), high > 0 ? high * (1 + PAD_RATIO) : 1];
  return {
    width: host.clientWidth,
    height: host.clientHeight - LEGEND_HEIGHT,
    cursor: { drag: { x: false, y: false } },
    scales: { x: { time: isTime }, y: spec.y_from_zero ? { range: fromZero } : {} },
    axes: [
      { ...axis, space: X_LABEL_SPACE, ...(isTime && { values: (_plot, splits) => splits.map(clock) }) },
      { ...axis, size: Y_AXIS_WIDTH },
    ],
    series: [
      { label: spec.x_label, ...(isTime && { value: (_plot, seconds) => (seconds == null ? "—" : clock(seconds)) }) },
      ...spec.series.map((series, index) => ({
        label: series.label,
        stroke: colour(host, `--series-${index + 1}`),
        width: 2,
        dash: index % 2 ? [6, 4] : undefined,
        points: { show: spec.x.length <= MAX_MARKED_POINTS },
        value: (_plot, number) => (number == null ? "—" : number.toLocaleString()),
      })),
    ],
  };
}

function draw(host) {
  const source = document.getElementById(host.dataset.chart);
  if (!source) return;
  const spec = JSON.parse(source.textContent);
  host.plot?.destroy();
  host.plot = new window.uPlot(options(host, spec), [spec.x, ...spec.series.map((series) => series.values)], host);
}

function drawAll() {
  for (const host of document.querySelectorAll("[data-chart]")) draw(host);
}

document.addEventListener("htmx:after:swap", drawAll);
document.addEventListener("themechange", drawAll);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
window.addEventListener("resize", drawAll);
drawAll();
