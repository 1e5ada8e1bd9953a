// The comparison as text: a table for the terminal and for docs/versus.md, and a chart of the
// ratios.

import { barChart } from '../chart.ts';
import { median } from '../report.ts';
import type { Results } from './measures.ts';
import { ratioOf, ROWS, type Row } from './rows.ts';

export interface Comparison {
  readonly row: Row;
  /** One for each of our sides. */
  readonly ours: readonly {
    /** The median over the rounds. */
    readonly value: number;
    /** The ratio to upstream's value: above 1, ours is better. */
    readonly ratio: number;
  }[];
  /** The median over the rounds. */
  readonly theirs: number;
}

/** Returns the rows that all sides have a value for. `ours`: the rounds of each of our sides. */
export function compare(
  ours: readonly (readonly Results[])[],
  theirs: readonly Results[],
): Comparison[] {
  const valuesOf = (rounds: readonly Results[], key: string): number[] =>
    rounds.flatMap((round) => {
      const value = round[key];
      return value === undefined ? [] : [value];
    });
  return ROWS.flatMap((row) => {
    const sides = ours.map((rounds) => valuesOf(rounds, row.key));
    const other = valuesOf(theirs, row.key);
    if ([...sides, other].some(({ length }) => length === 0)) return [];
    const upstream = median(other);
    const values = sides.map((each) => {
      const value = median(each);
      return { value, ratio: ratioOf(row, value, upstream) };
    });
    return [{ row, ours: values, theirs: upstream }];
  });
}

/**
 * Returns the comparison as a table in Markdown, with a column for each of `nodes`: the versions of
 * Node of our sides.
 */
export function table(comparisons: readonly Comparison[], nodes: readonly string[]): string {
  const columns = nodes.map((version, i) => `${i === 0 ? 'Coxswain, ' : ''}Node ${version}`);
  const lines = comparisons.map(({ row, ours, theirs }) => [
    row.what,
    ...[...ours.map(({ value }) => value), theirs].map((value) => `${number(value)} ${row.unit}`),
    ours.map(({ ratio }) => `${ratio.toFixed(1)} ×`).join(', '),
  ]);
  return [
    ['', ...columns, 'upstream', 'better by'],
    ['---', ...[...columns, '', ''].map(() => '---:')],
    ...lines,
  ]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n');
}

export interface Circumstances {
  readonly kubernetes: string;
  readonly etcd: string;
  /** Versions of Node of our sides, the first of which is that of the chart. */
  readonly nodes: readonly string[];
  /** The version of Node of what drives the sides. */
  readonly driver: string;
  readonly processors: number;
  readonly rounds: number;
  /** Share of processor time that other guests of the host took, in percent. */
  readonly stolen: number;
  /** YYYY-MM-DD. */
  readonly date: string;
}

/** Returns docs/versus.md. */
export function document(comparisons: readonly Comparison[], circumstances: Circumstances): string {
  const { kubernetes, etcd, nodes, driver, processors, rounds, stolen, date } = circumstances;
  return `# Beside upstream

Made by \`npm run versus\` on ${date}, never edited by hand. The command builds kube-apiserver, \
kube-controller-manager and kube-scheduler
${kubernetes} and etcd ${etcd} from their published Go modules, and drives both sides with the same \
programs, in turns, ${rounds} rounds. The
table has medians. One machine with ${processors} processors, which the sides share with what \
drives them (Node ${driver}); other guests of its
host took ${stolen.toFixed(1)} % of the processors meanwhile.

${table(comparisons, nodes)}

![How many times better each figure is, with Node ${nodes[0]}](versus.svg)

- Ours is \`cox up\` with the durable store: API server, controllers, scheduler and a simulated \
node in one process. Upstream's is the four
  programs with their defaults; only the limits of the controller manager's and the scheduler's \
clients are lifted (50 requests per second).
- Both acknowledge a write when it is on the disk.
- Ready: from the start of the first process until /readyz answers 200; ours also until its node is \
ready. Upstream's certificates are there
  before its time is taken, ours are made in it.
- Nodes are objects without a kubelet, on both sides.
- What drives the sides takes part of the same processors. It weighs more on the faster side.
`;
}

/** Returns docs/versus.svg: the ratios of the first of our sides. */
export function chart(comparisons: readonly Comparison[], nodes: readonly string[]): string {
  return barChart({
    title: `How many times better than upstream, with Node ${nodes[0]}`,
    bars: comparisons.map(({ row, ours: [{ ratio } = { ratio: Number.NaN }] }) => ({
      label: row.what,
      value: ratio,
      text: `${ratio.toFixed(1)} ×`,
    })),
    goal: { value: 1, text: 'upstream' },
  });
}

function number(value: number): string {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toLocaleString('en', {
    maximumFractionDigits: digits,
    minimumFractionDigits: digits,
  });
}
