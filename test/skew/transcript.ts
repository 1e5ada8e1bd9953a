// Transcripts of kubectl: commands, each with what it prints. All versions must print the same,
// apart from what `shape` removes.

/** A command and what it printed, with its exit status if that was not 0. */
export interface Step {
  readonly command: string;
  readonly output: string;
}

const PROMPT = '$ kubectl ';

/** Parses a transcript: lines that begin with the prompt are commands; lines with # are comments. */
export function parseTranscript(text: string): Step[] {
  const steps: { command: string; lines: string[] }[] = [];
  for (const line of text.split('\n')) {
    if (line.startsWith('#')) continue;
    if (line.startsWith(PROMPT)) steps.push({ command: line.slice(PROMPT.length), lines: [] });
    else if (steps.length > 0) steps.at(-1)?.lines.push(line);
    else if (line !== '') throw new Error(`a transcript begins with a command, not: ${line}`);
  }
  return steps.map(({ command, lines }) => ({ command, output: lines.join('\n').trim() }));
}

export const formatTranscript = (steps: readonly Step[]): string =>
  steps.map(({ command, output }) => `${PROMPT}${command}\n${output}`.trim()).join('\n\n');

/** Removes ages, generated names, addresses, widths of columns, and wording that versions change. */
export const shape = (text: string): string =>
  text
    .replaceAll(/\b(?:\d+[smhd])+\b/g, 'AGE')
    .replaceAll(/\b10\.\d+\.\d+\.\d+\b/g, 'ADDRESS')
    .replaceAll(/-[a-z0-9]{8,10}-[bcdfghjklmnpqrstvwxz2456789]{5}\b/g, '-XXXXX')
    // Since 1.34, "deleted" names the namespace.
    .replaceAll(/^(.* deleted) from \S+ namespace$/gm, '$1')
    // How often the status of a rollout is printed depends on the time.
    .replaceAll(/^Waiting for (?:deployment|daemon set) .*\n/gm, '')
    .replaceAll(/[ \t]+/g, ' ')
    .replaceAll(/ $/gm, '')
    .replaceAll(/\n{3,}/g, '\n\n')
    .trim();

/** Splits a command at spaces, except inside of single quotes. */
export const splitCommand = (command: string): string[] =>
  [...command.matchAll(/'([^']*)'|[^\s']+/g)].map(([word, quoted]) => quoted ?? word);
