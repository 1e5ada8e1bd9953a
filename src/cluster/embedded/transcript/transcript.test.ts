import { describe, expect, test } from 'vitest';
import { parseArguments } from './arguments.ts';
import { valuesAt } from './paths.ts';
import { formatStep, parseTranscript } from './transcript.ts';

describe('a transcript', () => {
  const text = `# why

one a
----
yes

# more
two
input: 1
more: 2
----
.
last

three
----
`;

  test('is parsed, and formatted to the same text', () => {
    const { steps, end } = parseTranscript(text);
    expect(steps.map(({ command, input }) => [command, input])).toEqual([
      ['one a', ''],
      ['two', 'input: 1\nmore: 2'],
      ['three', ''],
    ]);
    const answers = ['yes', '\nlast   ', ''];
    expect(steps.map((step, at) => formatStep(step, answers[at]!)).join('') + end.join('')).toBe(
      text,
    );
  });

  test('shows changed answers', () => {
    const [step] = parseTranscript('get pods\n----\nold\n').steps;
    expect(formatStep(step as NonNullable<typeof step>, 'new\nand more')).toBe(
      'get pods\n----\nnew\nand more\n',
    );
  });

  test('must mark the end of a command', () => {
    expect(() => parseTranscript('# comment\nget pods\n')).toThrow(
      'line 2: "get pods" has no ---- after it',
    );
  });
});

describe('a command line', () => {
  test('has words, options and flags', () => {
    const args = parseArguments('get pods -A -l app=web columns=Name,"Last Seen" x');
    expect([
      args.word(0),
      args.word(1),
      args.option('-l'),
      args.option('columns'),
      args.flag('-A'),
    ]).toEqual(['pods', 'x', 'app=web', 'Name,Last Seen', true]);
    expect(() => args.finish()).not.toThrow();
  });

  test('may not contain ignored arguments', () => {
    const args = parseArguments('scale rs/web 3 cascade=orphan');
    args.word(1);
    expect(() => args.finish()).toThrow('scale: not understood: cascade');
    expect(() => parseArguments('get').word(0)).toThrow('get: argument 1 is missing');
  });

  test('distinguishes negative numbers from flags', () => {
    expect(parseArguments('scale rs/web -1').words).toEqual(['rs/web', '-1']);
  });
});

test('paths lead into objects and lists', () => {
  const object = {
    status: { conditions: [{ type: 'A' }, { type: 'B' }] },
    metadata: { labels: { 'example.com/x': '1' } },
  };
  expect(valuesAt(object, '.status.conditions[*].type')).toEqual(['A', 'B']);
  expect(valuesAt(object, '.status.conditions[1].type')).toEqual(['B']);
  expect(valuesAt(object, '.metadata.labels.example\\.com/x')).toEqual(['1']);
  expect(valuesAt(object, '.spec.nothing')).toEqual([]);
});
