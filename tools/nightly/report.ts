// The results of nightly runs: the last one of each step, and the page that says what changed.

import type { Figure, StepOutput } from './output.ts';

/** The outcome of one step. */
export interface StepResult extends StepOutput {
  readonly name: string;
  /** The exit status; undefined if the step was ended after its time. */
  readonly status: number | undefined;
  readonly seconds: number;
  /** ISO 8601. */
  readonly date: string;
  readonly commit: string;
}

/** A step that ran, with its result of the run before. */
interface Compared {
  readonly now: StepResult;
  readonly before: StepResult | undefined;
}

/** Figures differ from run to run; the page lists those that differ by more than this factor. */
const NOTABLE = 1.25;

/** Returns the last result of each step: of this run, or of an earlier one. */
export const mergeResults = (
  earlier: readonly StepResult[],
  run: readonly StepResult[],
): StepResult[] => {
  const merged = new Map(earlier.map((result) => [result.name, result]));
  for (const result of run) merged.set(result.name, result);
  return [...merged.values()];
};

/**
 * Returns the page as Markdown. `earlier`: the last result of each step before this run. `steps`:
 * the names of all steps, in their order.
 */
export function nightPage(
  steps: readonly string[],
  run: readonly StepResult[],
  earlier: readonly StepResult[],
): string {
  const before = new Map(earlier.map((result) => [result.name, result]));
  const ran = new Map(run.map((result) => [result.name, result]));
  const compared = run.map((now): Compared => ({ now, before: before.get(now.name) }));
  const changes = compared.flatMap(changesOf).map((line) => `- ${line}`);
  const rows = steps.map((name) => {
    const [now, was] = [ran.get(name), before.get(name)];
    const cells = [
      name,
      now === undefined ? 'not run this time' : outcome(now),
      was === undefined ? 'never run' : `${outcome(was)} (${was.date.slice(0, 10)}, ${was.commit})`,
      now === undefined ? '' : `${now.seconds} s`,
    ];
    return `| ${cells.map((cell) => cell.replaceAll('|', String.raw`\|`)).join(' | ')} |`;
  });
  const last = run.at(-1);
  return `# Night of ${last?.date ?? ''}

Commit ${last?.commit ?? ''}; ${run.length} of ${steps.length} steps. Each is compared with its last run before.

## What changed

${changes.join('\n') || 'Nothing.'}

## Steps

| step | now | before | duration |
|---|---|---|---:|
${rows.join('\n')}

## Figures

In parentheses: how far a figure meets its goal (1 and more: it does), or its ratio to another
program's figure in the same run.

${figureTable(compared)}
`;
}

function figureTable(compared: readonly Compared[]): string {
  const rows = compared.flatMap(({ now, before }) =>
    now.figures.map((figure) => {
      const was = before?.figures.find(({ name }) => name === figure.name);
      return `| ${now.name} | ${figure.name} | ${text(figure)} | ${was === undefined ? '' : text(was)} |`;
    }),
  );
  return rows.length === 0
    ? 'None.'
    : ['| step | figure | now | before |', '|---|---|---:|---:|', ...rows].join('\n');
}

const text = ({ value, unit, ratio }: Figure): string =>
  `${value.toLocaleString('en')} ${unit}${ratio === undefined ? '' : ` (${ratio})`}`;

const outcome = ({ status, summary }: StepResult): string =>
  [status === undefined ? 'not done in time' : status === 0 ? 'ok' : 'failed', summary]
    .filter((part) => part !== '')
    .join(': ');

function changesOf({ now, before }: Compared): string[] {
  if (before === undefined) {
    const findings = now.findings.map((name) => `${now.name}: ${name}`);
    return [`${now.name}: its first run: ${outcome(now)}`, ...findings];
  }
  const added = now.findings.filter((name) => !before.findings.includes(name));
  const gone = before.findings.filter((name) => !now.findings.includes(name));
  const lines = [
    ...added.map((name) => `${now.name}: new: ${name}`),
    ...gone.map((name) => `${now.name}: no longer: ${name}`),
  ];
  if (lines.length === 0 && now.status !== before.status)
    lines.push(`${now.name}: ${outcome(before)} → ${outcome(now)}`);
  return [...lines, ...now.figures.flatMap((figure) => figureChange(now.name, figure, before))];
}

function figureChange(step: string, figure: Figure, before: StepResult): string[] {
  const was = before.figures.find(({ name }) => name === figure.name);
  if (was?.ratio === undefined || figure.ratio === undefined) return [];
  const factor = figure.ratio / was.ratio;
  if (!(factor > NOTABLE || factor < 1 / NOTABLE)) return [];
  return [`${step}: ${figure.name}: ${text(was)} → ${text(figure)}`];
}
