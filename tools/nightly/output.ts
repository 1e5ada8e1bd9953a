// Reads the output of a step: its summary, what failed, and its figures.

import { stripVTControlCharacters } from 'node:util';

/** A figure of a benchmark. */
export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  /** How far it meets its goal, 1 and more if it does; or its ratio to another program's figure. */
  readonly ratio?: number;
}

export interface StepOutput {
  /** `18,116 passed, 2 failed …`; empty if the step prints no counts. */
  readonly summary: string;
  /** Lines that name a failure, or a figure that misses its goal, at most FINDINGS. */
  readonly findings: readonly string[];
  /** At most FIGURES. */
  readonly figures: readonly Figure[];
}

const FINDINGS = 100;
const FIGURES = 100;
const SUMMARY =
  /^\s*[\d,]+ (?:of \d+ )?passed, [\d,]+ failed|problems?$|^torture: \d+ held|answered differently$/;
/** The summary of a comparison with another program. */
const COMPARISON = /\d differen(?:t|ces)$/;
const FINDING = /^(?:failed\t|not ok |\s*FAIL |\[\d+\/\d+\] failed |FAILED {2,})|MISSED \(/;
/** A line of a benchmark: name, median, unit, and perhaps a range, the goal, and a comparison. */
const FIGURE = /^ {2}(\S.*?) {2,}([\d,.]+) (\S*)(.*)$/;
const GOAL = /goal [≥≤] \S+ (?:met|MISSED) \(([\d.]+)\)/;
const BESIDE = /([\d.]+) × .+ \([\d,.]+\)$/;
/** A row of the comparison with upstream, with one version of Node. */
const COMPARED = /^\| ([^|]+) \| ([\d,.]+) ([^|]*) \| [^|]+ \| ([\d.]+) × \|$/;

export function readOutput(output: string): StepOutput {
  // Programs in a terminal's colours say the same.
  const lines = stripVTControlCharacters(output).split('\n');
  return {
    summary: lines.findLast((line) => SUMMARY.test(line) || COMPARISON.test(line))?.trim() ?? '',
    findings: [...new Set(lines.filter((line) => FINDING.test(line)).map(nameOf))].slice(
      0,
      FINDINGS,
    ),
    figures: lines.flatMap(figuresOf).slice(0, FIGURES),
  };
}

/** Returns a finding without its duration and its figures, which differ in every run. */
function nameOf(line: string): string {
  const missed = /^\s*(\S.*?)\s{2,}.*MISSED/.exec(line)?.[1];
  if (missed !== undefined) return `misses its goal: ${missed}`;
  return (
    line
      .replace(/^\[\d+\/\d+\] failed /, '')
      .replace(/^failed\t[\d.]+(?: s)?\t/, '')
      // A part of torture: its name, then figures.
      .replace(/^FAILED {2,}(.*?): \d.*$/, '$1')
      .split('\t')[0]!
      .trim()
  );
}

function figuresOf(line: string): readonly Figure[] {
  const [, name, value = '', unit = '', rest = ''] = FIGURE.exec(line) ?? [];
  if (name !== undefined)
    return [figure(name, value, unit, (GOAL.exec(rest) ?? BESIDE.exec(rest))?.[1])];
  const [, what, ours = '', measure = '', ratio] = COMPARED.exec(line) ?? [];
  return what === undefined ? [] : [figure(what, ours, measure, ratio)];
}

const figure = (name: string, value: string, unit: string, ratio: string | undefined): Figure => ({
  name,
  value: Number(value.replaceAll(',', '')),
  unit: unit.trim(),
  ...(ratio !== undefined && { ratio: Number(ratio) }),
});
