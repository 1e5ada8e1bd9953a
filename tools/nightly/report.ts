// The page of a nightly run: what each step said, and what changed since the run before.

/** The outcome of one step. */
export interface StepResult {
  readonly name: string;
  /** The exit status; undefined if the step was ended after its time. */
  readonly status: number | undefined;
  readonly seconds: number;
  /** `18,116 passed, 2 failed …`; empty if the step prints no counts. */
  readonly summary: string;
  /** Lines that name a failure, or a figure that misses its goal, at most FINDINGS. */
  readonly findings: readonly string[];
}

export interface Night {
  /** ISO 8601. */
  readonly date: string;
  readonly commit: string;
  readonly steps: readonly StepResult[];
}

const FINDINGS = 100;
const SUMMARY = /^\s*[\d,]+ passed, [\d,]+ failed|problems?$|^torture: \d+ held/;
const FINDING = /^(?:failed\t|not ok |\s*FAIL |\[\d+\/\d+\] failed |FAILED {2,})|MISSED \(/;

/** Reads a step's output. */
export function readOutput(output: string): Pick<StepResult, 'summary' | 'findings'> {
  const lines = output.split('\n');
  return {
    summary: lines.findLast((line) => SUMMARY.test(line))?.trim() ?? '',
    findings: [...new Set(lines.filter((line) => FINDING.test(line)).map(nameOf))].slice(
      0,
      FINDINGS,
    ),
  };
}

/** Returns a finding without its duration and its figures, which differ in every run. */
function nameOf(line: string): string {
  const missed = /^\s*(\S.*?)\s{2,}.*MISSED/.exec(line)?.[1];
  if (missed !== undefined) return `misses its goal: ${missed}`;
  return (
    line
      .replace(/^\[\d+\/\d+\] failed /, '')
      .replace(/^failed\t[\d.]+\t/, '')
      // A part of torture: its name, then figures.
      .replace(/^FAILED {2,}(.*?): \d.*$/, '$1')
      .split('\t')[0]!
      .trim()
  );
}

/** Returns the page as Markdown. `before` is the run before, if there was one. */
export function nightPage(night: Night, before: Night | undefined): string {
  const earlier = new Map(before?.steps.map((step) => [step.name, step]));
  const rows = night.steps.map((step) => {
    const was = earlier.get(step.name);
    return `| ${step.name} | ${outcome(step)} | ${was === undefined ? '' : outcome(was)} | ${step.seconds} s |`;
  });
  const changes = night.steps
    .flatMap((step) => changesOf(step, earlier.get(step.name)))
    .map((line) => `- ${line}`);
  const last = before === undefined ? '' : `; the run before: ${before.date}, ${before.commit}`;
  const changed =
    before === undefined ? 'There is no run before this one.' : changes.join('\n') || 'Nothing.';
  return `# Night of ${night.date}

Commit ${night.commit}${last}.

## What changed

${changed}

## Steps

| step | now | before | duration |
|---|---|---|---:|
${rows.join('\n')}
`;
}

const outcome = ({ status, summary }: StepResult): string =>
  [status === undefined ? 'not done in time' : status === 0 ? 'ok' : 'failed', summary]
    .filter((text) => text !== '')
    .join(': ');

function changesOf(step: StepResult, was: StepResult | undefined): string[] {
  if (was === undefined) return [`${step.name}: new`];
  const added = step.findings.filter((name) => !was.findings.includes(name));
  const gone = was.findings.filter((name) => !step.findings.includes(name));
  const lines = [
    ...added.map((name) => `${step.name}: new: ${name}`),
    ...gone.map((name) => `${step.name}: no longer: ${name}`),
  ];
  if (lines.length === 0 && step.status !== was.status)
    lines.push(`${step.name}: ${outcome(was)} → ${outcome(step)}`);
  return lines;
}
