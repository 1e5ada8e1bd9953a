// Reads critest's JUnit report, and compares the results with the reasons that reasons.tsv gives.

export interface SpecResult {
  /** The full name without the prefix of the suite. */
  readonly name: string;
  readonly state: 'passed' | 'failed' | 'skipped';
  /** The message of a failure, or why critest skipped the spec. */
  readonly message: string;
  readonly seconds: number;
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#34;': '"',
  '&#39;': "'",
  '&apos;': "'",
  '&#xA;': '\n',
  '&#x9;': '\t',
  '&amp;': '&',
};
const decode = (text: string): string =>
  text.replaceAll(/&(?:lt|gt|quot|apos|amp|#34|#39|#xA|#x9);/g, (entity) => ENTITIES[entity]!);

/** Returns the specs of a report, by name. Setup and teardown of the suite are left out. */
export function parseReport(xml: string): readonly SpecResult[] {
  const cases = xml.matchAll(/<testcase ([^>]*?)(?:\/>|>(.*?)<\/testcase>)/gs);
  return [...cases]
    .flatMap(([, head = '', body = '']): readonly SpecResult[] => {
      const attribute = (name: string): string =>
        decode(new RegExp(`\\b${name}="([^"]*)"`).exec(head)?.[1] ?? '');
      const name = /^\[It\] (.+)$/s.exec(attribute('name'))?.[1];
      if (name === undefined) return [];
      const status = attribute('status');
      const message = decode(/<(?:failure|skipped|error) message="([^"]*)"/.exec(body)?.[1] ?? '');
      const state = status === 'passed' ? 'passed' : status === 'skipped' ? 'skipped' : 'failed';
      return [
        {
          name: name.replace(/^\[k8s\.io\] /, ''),
          state,
          message: message.replace(/^skipped - /, ''),
          seconds: Number(attribute('time')),
        },
      ];
    })
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** Returns the reasons of a table: a pattern of names, a tab, the reason. */
export function parseReasons(
  table: string,
): readonly (readonly [pattern: string, reason: string])[] {
  return table
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const [pattern = '', reason = ''] = line.split('\t');
      return [pattern, reason] as const;
    });
}

export interface Judgement {
  readonly passed: number;
  readonly failed: readonly SpecResult[];
  readonly skipped: readonly SpecResult[];
  /** Specs that did not pass, and for which the table has no reason. */
  readonly unexpected: readonly SpecResult[];
  /** Patterns of the table whose specs have all passed: they can go. */
  readonly outdated: readonly string[];
}

/** Compares results with the table of reasons. */
export function judge(
  results: readonly SpecResult[],
  reasons: readonly (readonly [pattern: string, reason: string])[],
): Judgement {
  const others = results.filter(({ state }) => state !== 'passed');
  const matches = (pattern: string, { name }: SpecResult): boolean => name.includes(pattern);
  return {
    passed: results.length - others.length,
    failed: others.filter(({ state }) => state === 'failed'),
    skipped: others.filter(({ state }) => state === 'skipped'),
    unexpected: others.filter((result) => !reasons.some(([pattern]) => matches(pattern, result))),
    outdated: reasons
      .map(([pattern]) => pattern)
      .filter(
        (pattern) =>
          results.some((result) => matches(pattern, result)) &&
          !others.some((result) => matches(pattern, result)),
      ),
  };
}
