// Reads the output of a test program: a result for each test function. Its subtests are parts of it.

export interface TestResult {
  /** The package, such as `apiserver/apply`. */
  readonly package: string;
  readonly test: string;
  readonly outcome: 'passed' | 'failed' | 'skipped';
  /** Why it failed: the subtests that did, and the last message of the first one. Else empty. */
  readonly message: string;
}

const OUTCOMES = { PASS: 'passed', FAIL: 'failed', SKIP: 'skipped' } as const;
/** The output of a test that prints without a newline stands before the result. */
const RESULT = /( *)--- (PASS|FAIL|SKIP): (\S+) \(\d+\.\d+s\)$/u;
const BEGIN = /^=== (?:RUN|CONT|NAME) +(\S+)$/u;
/** A log line of the Go code under test, as `I1128 06:21:45.470987] …`, is no reason. */
const MESSAGE = /^ +\S+\.go:\d+: (?![IW]\d{4} )(.*\S.*)$/u;
const MESSAGE_CHARACTERS = 200;

/**
 * Reads the output of `-test.v`. A test that has begun and not ended, since the program ended or was
 * too slow, has failed.
 */
export function readResults(packageName: string, output: string): readonly TestResult[] {
  const messages = new Map<string, string>();
  const failedParts = new Map<string, string[]>();
  const begun = new Set<string>();
  const results = new Map<string, TestResult>();
  let current = '';
  for (const line of output.split('\n')) {
    const [, name] = BEGIN.exec(line) ?? [];
    if (name !== undefined) {
      current = name;
      begun.add(topLevel(name));
    }
    const [, message] = MESSAGE.exec(line) ?? [];
    if (message !== undefined) messages.set(current, message);
    const [, indentation, outcome, ended] = RESULT.exec(line) ?? [];
    if (ended === undefined) continue;
    const test = topLevel(ended);
    if (outcome === 'FAIL' && ended !== test)
      failedParts.set(test, [...(failedParts.get(test) ?? []), ended]);
    if (indentation === '' && ended === test)
      results.set(test, {
        package: packageName,
        test,
        outcome: OUTCOMES[outcome as keyof typeof OUTCOMES],
        message: '',
      });
  }
  return [...begun].map((test) => {
    const result = results.get(test);
    if (result === undefined)
      return { package: packageName, test, outcome: 'failed', message: 'it did not end' };
    if (result.outcome === 'passed') return result;
    return { ...result, message: messageOf(test, failedParts.get(test) ?? [], messages) };
  });
}

const topLevel = (name: string): string => name.split('/', 1)[0] ?? '';

function messageOf(
  test: string,
  parts: readonly string[],
  messages: ReadonlyMap<string, string>,
): string {
  const leaves = parts.filter((part) => !parts.some((other) => other.startsWith(`${part}/`)));
  const first = messages.get(leaves[0] ?? test) ?? messages.get(test) ?? '';
  const failed = leaves.map((leaf) => leaf.slice(test.length + 1)).join(', ');
  return [failed, first]
    .filter((text) => text !== '')
    .join(': ')
    .replaceAll(/\s+/gu, ' ')
    .slice(0, MESSAGE_CHARACTERS);
}
