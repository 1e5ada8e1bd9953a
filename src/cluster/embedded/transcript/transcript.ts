// Transcripts: requests to a cluster, and its answers. A file is a list of steps, each
//
//   # why
//   command arguments
//   input lines, if any
//   ----
//   the answer, up to a blank line
//
// Running one produces the same text with the current answers, so that one diff shows all changes.

export interface Step {
  /** The lines before the command: comments and blank lines. */
  readonly preamble: readonly string[];
  readonly command: string;
  readonly input: string;
}

export interface Transcript {
  readonly steps: readonly Step[];
  /** The lines after the last step. */
  readonly end: readonly string[];
}

const SEPARATOR = '----';

/** Throws if a command has no separator after it. */
export function parseTranscript(text: string): Transcript {
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  const steps: Step[] = [];
  let preamble: string[] = [];
  for (let at = 0; at < lines.length;) {
    const line = lines[at]!;
    if (line.trim() === '' || line.startsWith('#')) {
      preamble.push(line);
      at++;
      continue;
    }
    const separator = lines.indexOf(SEPARATOR, at);
    if (separator < 0)
      throw new Error(`line ${at + 1}: ${JSON.stringify(line)} has no ${SEPARATOR} after it`);
    steps.push({ preamble, command: line, input: lines.slice(at + 1, separator).join('\n') });
    preamble = [];
    const blank = lines.indexOf('', separator);
    at = blank < 0 ? lines.length : blank;
  }
  return { steps, end: preamble };
}

/**
 * Returns one step with its answer in the form of the file. Blank lines would end the answer, so
 * those in it are shown as a dot.
 */
export function formatStep(step: Step, output: string): string {
  const answer = output === '' ? [] : output.split('\n').map((line) => line.trimEnd() || '.');
  const input = step.input === '' ? [] : step.input.split('\n');
  return [...step.preamble, step.command, ...input, SEPARATOR, ...answer]
    .map((line) => `${line}\n`)
    .join('');
}
