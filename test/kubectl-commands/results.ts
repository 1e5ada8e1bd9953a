// Reads results of test-cmd.sh's functions, and compares them with the recorded causes of failures.

import { stripVTControlCharacters } from 'node:util';
import { oneLine } from '../conformance/results.ts';

export interface FunctionResult {
  readonly name: string;
  readonly outcome: 'passed' | 'failed' | 'skipped';
  readonly seconds: number;
}

/**
 * Parses results.tsv: NAME, outcome and seconds, separated by tabs. Throws for a line of another
 * form.
 */
export function parseResults(text: string): FunctionResult[] {
  return rows(text).map((row) => {
    const [name = '', outcome = '', seconds = ''] = row.split('\t');
    if (outcome !== 'passed' && outcome !== 'failed' && outcome !== 'skipped')
      throw new Error(`results.tsv: ${row}`);
    return { name, outcome, seconds: Number(seconds) };
  });
}

/** Parses causes.tsv: the functions that are expected to fail, each with the cause. */
export function parseCauses(text: string): ReadonlyMap<string, string> {
  return new Map(
    rows(text).map((row) => {
      const [name = '', cause = ''] = row.split('\t');
      if (cause === '') throw new Error(`causes.tsv: '${name}' has no cause`);
      return [name, cause];
    }),
  );
}

/**
 * Returns why a function failed, on one line, from its output: what its last failing check says, or
 * else the last line in front of the trace of the shell.
 */
export function reasonOf(output: string): string {
  const lines = stripVTControlCharacters(output).split('\n');
  const check = lines.findLastIndex((line) => line.includes('FAIL!'));
  if (check !== -1) return oneLine(lines.slice(check, check + 5).join(' '));
  const isTrace = (line: string): boolean => line.startsWith('!!! [') || line.trim() === '';
  const last = lines.findLast((line) => !isTrace(line)) ?? '';
  // The address of a machine's name server is not part of the reason.
  return oneLine(last.replace(/ on \S+: no such host/, ': no such host'));
}

const rows = (text: string): string[] =>
  text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));

/**
 * Returns the problems of a run, a line each. Empty: every outcome is the expected one. `complete`:
 * the run included every function, on our own servers, so recorded causes must still hold.
 */
export function judge(
  results: readonly FunctionResult[],
  causes: ReadonlyMap<string, string>,
  { scriptStatus, complete }: { readonly scriptStatus: number; readonly complete: boolean },
): string[] {
  const failed = results.filter(({ outcome }) => outcome === 'failed');
  const problems = failed
    .filter(({ name }) => !causes.has(name))
    .map(({ name }) => `${name} failed, and causes.tsv has no cause`);
  if (complete) {
    const passed = new Set(
      results.filter(({ outcome }) => outcome === 'passed').map(({ name }) => name),
    );
    for (const name of causes.keys())
      if (passed.has(name)) problems.push(`${name} passed: remove it from causes.tsv`);
  }
  if (results.every(({ outcome }) => outcome === 'skipped'))
    problems.push('no function was run; see script.log');
  // The script ends with 1 if a function failed. Without a failed function, the error was outside
  // of the functions.
  else if (scriptStatus !== 0 && failed.length === 0)
    problems.push(`the script ended with ${scriptStatus} outside of a function`);
  return problems;
}
