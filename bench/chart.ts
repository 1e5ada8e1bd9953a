// Draws charts as SVG for READMEs: bars, and points joined by lines on logarithmic scales. They are
// readable on a light and on a dark page.

const WIDTH = 760;
const LEFT = 300;
const RIGHT = 110;
const ROW = 22;
const STYLE =
  '<style>text{font:12px system-ui,sans-serif;fill:#57606a}.t{font-weight:600;' +
  'font-size:14px}.b{fill:#2f81f7}.m{fill:#d1242f}' +
  '.g{stroke:#8b949e;stroke-dasharray:3 3}.l{fill:none;stroke:#2f81f7;stroke-width:2}</style>';

export interface Bar {
  readonly label: string;
  readonly value: number;
  /** The text beside the bar. */
  readonly text: string;
}

export interface BarChart {
  readonly title: string;
  readonly bars: readonly Bar[];
  /** Draws a line at this value; bars that do not reach it get another colour. */
  readonly goal?: { readonly value: number; readonly text: string };
}

export function barChart({ title, bars, goal }: BarChart): string {
  const most = Math.max(...bars.map(({ value }) => value), goal?.value ?? 0);
  const scale = (WIDTH - LEFT - RIGHT) / Math.max(most, 1e-9);
  const height = 46 + bars.length * ROW;
  const rows = bars.map(({ label, value, text }, i) => {
    const y = 34 + i * ROW;
    const reached = goal === undefined || value >= goal.value;
    return (
      `<text x="${LEFT - 8}" y="${y + 13}" text-anchor="end">${escaped(label)}</text>` +
      `<rect class="${reached ? 'b' : 'm'}" x="${LEFT}" y="${y + 2}" ` +
      `width="${round(value * scale)}" height="${ROW - 8}"/>` +
      `<text x="${round(LEFT + value * scale + 6)}" y="${y + 13}">${escaped(text)}</text>`
    );
  });
  const line =
    goal === undefined
      ? ''
      : `<line class="g" x1="${round(LEFT + goal.value * scale)}" ` +
        `x2="${round(LEFT + goal.value * scale)}" y1="30" y2="${height - 12}"/>` +
        `<text x="${round(LEFT + goal.value * scale + 4)}" y="28">${escaped(goal.text)}</text>`;
  return svg(
    height,
    `<text class="t" x="8" y="18">${escaped(title)}</text>${line}${rows.join('')}`,
  );
}

export interface LineChart {
  readonly title: string;
  readonly points: readonly { readonly x: number; readonly y: number; readonly text: string }[];
  readonly xLabel: string;
}

/**
 * Both scales are logarithmic, and a decade has the same length on both. The diagonal is drawn too:
 * it is the line of proportional growth.
 */
export function logLineChart({ title, points, xLabel }: LineChart): string {
  const height = 300;
  const [top, bottom, left, right] = [40, 250, 60, WIDTH - 60];
  const [first, last] = [points[0], points.at(-1)];
  if (first === undefined || last === undefined)
    return svg(40, `<text class="t" x="8" y="18">${escaped(title)}</text>`);
  const decades = Math.max(Math.log10(last.x / first.x), 1e-9);
  const lowest = Math.min(...points.map(({ y }) => y));
  const [unitX, unitY] = [(right - left - 80) / decades, (bottom - top) / decades];
  const at = (x: number, y: number): readonly [number, number] => [
    round(left + Math.log10(x / first.x) * unitX),
    round(bottom - Math.log10(y / lowest) * unitY),
  ];
  const path = points.map(({ x, y }) => at(x, y).join(',')).join(' ');
  const [x1, y1] = at(first.x, first.y);
  const [x2, y2] = at(last.x, first.y * (last.x / first.x));
  const marks = points.map(({ x, y, text }) => {
    const [px, py] = at(x, y);
    return (
      `<circle class="b" cx="${px}" cy="${py}" r="4"/><text x="${px + 8}" y="${py + 16}">${escaped(text)}</text>` +
      `<text x="${px}" y="${bottom + 34}" text-anchor="middle">${x.toLocaleString('en')}</text>`
    );
  });
  return svg(
    height,
    `<text class="t" x="8" y="18">${escaped(title)}</text>` +
      `<line class="g" x1="${x1}" y1="${y1}" x2="${x2}" y2="${y2}"/><text x="${x2 + 6}" ` +
      `y="${y2 + 12}">in proportion</text>` +
      `<polyline class="l" points="${path}"/>${marks.join('')}` +
      `<text x="${right}" y="${bottom + 34}" text-anchor="end">${escaped(xLabel)}</text>`,
  );
}

function svg(height: number, content: string): string {
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" ` +
    `height="${height}">${STYLE}${content}</svg>\n`
  );
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
