// The comparison as text: a table for the terminal and for docs/versus.md, and a chart of the
// ratios.

import { barChart } from '../chart.ts';
import { median } from '../report.ts';
import type { Results } from './measures.ts';
import { ratioOf, ROWS, type Row } from './rows.ts';

export interface Comparison {
  readonly row: Row;
  /** Medians over the rounds. */
  readonly ours: number;
  readonly theirs: number;
  /** The ratio of the two: above 1, ours is better. */
  readonly ratio: number;
}

/** Returns the rows that both sides have a value for. */
export function compare(ours: readonly Results[], theirs: readonly Results[]): Comparison[] {
  const valuesOf = (rounds: readonly Results[], key: string): number[] =>
    rounds.flatMap((round) => {
      const value = round[key];
      return value === undefined ? [] : [value];
    });
  return ROWS.flatMap((row) => {
    const [mine, other] = [valuesOf(ours, row.key), valuesOf(theirs, row.key)];
    if (mine.length === 0 || other.length === 0) return [];
    const [a, b] = [median(mine), median(other)];
    return [{ row, ours: a, theirs: b, ratio: ratioOf(row, a, b) }];
  });
}

/** Returns the comparison as a table in Markdown. */
export function table(comparisons: readonly Comparison[]): string {
  const lines = comparisons.map(
    ({ row, ours, theirs, ratio }) =>
      `| ${row.what} | ${number(ours)} ${row.unit} | ${number(theirs)} ${row.unit} | ${ratio.toFixed(1)} × |`,
  );
  return ['| | Coxswain | upstream | better by |', '|---|---:|---:|---:|', ...lines].join('\n');
}

export interface Circumstances {
  readonly kubernetes: string;
  readonly etcd: string;
  readonly node: string;
  readonly processors: number;
  readonly rounds: number;
  /** Share of processor time that other guests of the host took, in percent. */
  readonly stolen: number;
  /** YYYY-MM-DD. */
  readonly date: string;
}

/** Returns docs/versus.md. */
export function document(comparisons: readonly Comparison[], circumstances: Circumstances): string {
  const { kubernetes, etcd, node, processors, rounds, stolen, date } = circumstances;
  return `# Beside upstream

Made by \`npm run versus\` on ${date}, never edited by hand. The command builds kube-apiserver, \
kube-controller-manager and kube-scheduler
${kubernetes} and etcd ${etcd} from their published Go modules, and drives both sides with the same \
programs, in turns, ${rounds} rounds. The
table has medians. One machine with ${processors} processors, which the sides share with what \
drives them; Node ${node}; other guests of its
host took ${stolen.toFixed(1)} % of the processors meanwhile.

${table(comparisons)}

![How many times better each figure is](versus.svg)

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

/** Returns docs/versus.svg. */
export function chart(comparisons: readonly Comparison[]): string {
  return barChart({
    title: 'How many times better than upstream',
    bars: comparisons.map(({ row, ratio }) => ({
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
