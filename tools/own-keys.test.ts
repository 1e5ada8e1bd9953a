// Maps whose keys users choose (labels, annotations, data, resources) are plain objects, and plain
// objects inherit: an index with the key 'constructor' finds a function. Such lookups use
// `ownValue` of machinery/string-map.ts. Reads the source as text: this is quick, and the message
// names a solution.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const source = join(dirname(dirname(fileURLToPath(import.meta.url))), 'src');

const MAPS =
  'labels|annotations|data|binaryData|stringData|requests|limits|capacity|allocatable|usage|e' +
  'nv|selector|nodeSelector|matchLabels|hard|used|parameters|overhead';

/**
 * Matches an index that is neither a literal nor a constant in capitals, and whose result is
 * neither assigned nor compared: an inherited value never equals a string.
 */
const LOOKUP = new RegExp(
  `\\b(?:${MAPS})\\)?(?:\\?\\.|!)?\\[(?!['"\`\\d]|[A-Z_]+(?:\\]| ` +
    '\\+))[^\\]\\n]+\\](?!\\s*(?:\\?\\?|\\|\\|)?=[^=])(?!\\s*(?:===|!==)\\s*(?!undefined)\\S)',
);
const IN = new RegExp(`\\b[a-z]\\w* in \\(?[\\w.?]*\\b(?:${MAPS})\\b(?!['.])`);
/** Removes the texts of messages, which have words and brackets, too. */
const withoutTexts = (code: string): string =>
  code.replaceAll(/'[^']*'/g, "''").replaceAll(/`[^`]*`/g, '``');

/** Lookups that are right, by file and text, each with the reason. */
const ALLOWED: readonly (readonly [file: string, text: string, reason: string])[] = [
  [
    'machinery/selectors/label-requirement.ts',
    'labels[this.key]',
    'checks that the value is a string',
  ],
  ['machinery/validation/validation.ts', 'labels![key]', 'a key of the map'],
  ['api/groups/core/v1/csi-migration/topology.ts', 'labels[zone]', 'one of two keys'],
  ['api/groups/core/v1/csi-migration/topology.ts', 'labels[region]', 'one of two keys'],
  ['api/groups/core/v1/bootstrap-token.ts', 'data?.[key]', 'keys of ours'],
  ['api/groups/core/v1/qos.ts', '[resource]', 'cpu or memory'],
  ['api/groups/core/v1/validation/configuration.ts', 'data[key]', 'one of two keys'],
  ['api/groups/storage/v1/validation/csi.ts', 'capacity[name]', 'a field of a message, not a map'],
  ['api/groups/resource/v1/validation/claims.ts', 'data[name]', 'a key of the map'],
  ['apiserver/admission/pod-resize-validator.ts', 'allocatable[name]', 'cpu or memory'],
  ['apiserver/admission/pod-security/ignored-namespace.ts', 'labels[', 'keys with a prefix'],
  ['apiserver/admission/pod-security/policy.ts', 'labels[', 'keys with a prefix'],
  ['apiserver/admission/pod-security/controls/profiles.ts', 'annotations[key]', 'a key of the map'],
  ['apiserver/kinds/core/pod/app-armor.ts', 'annotations[key]', 'keys with a prefix'],
  ['controllers/deployment/replica-sets.ts', 'annotations?.[name]', 'keys of ours'],
  ['controllers/job/job-pods.ts', 'annotations?.[name]', 'keys of ours'],
  ['kubelet/images/pull-credentials.ts', 'labels[index]', 'a list'],
  ['runtime/simulated/annotations.ts', 'annotations[key]', 'keys of ours'],
  ['scheduler/framework/affinity-terms.ts', 'labels[key]', 'checked with Object.hasOwn before'],
  [
    'scheduler/plugins/pod-topology-spread/constraints.ts',
    'labels[key]',
    'checked with Object.hasOwn before',
  ],
  ['scheduler/plugins/volume-zone.ts', '[key]', 'one of four keys'],
  ['cel/types.ts', 'parameters[', 'a list'],
  ['cel/unify.ts', 'parameters[', 'a list'],
];

const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter(
  (file) => file.endsWith('.ts') && !/test\.ts$|\/testing\/|descriptions\//.test(file),
);

function lookupsOf(file: string): string[] {
  return readFileSync(join(source, file), 'utf8')
    .split('\n')
    .flatMap((line, index) => {
      const code = line.trim();
      if (/^(?:\/\/|\*|\/\*)/.test(code) || line.includes('Object.hasOwn')) return [];
      const found = LOOKUP.exec(withoutTexts(code)) ?? IN.exec(withoutTexts(code));
      if (
        found === null ||
        ALLOWED.some(([allowed, text]) => allowed === file && line.includes(text))
      )
        return [];
      return [`src/${file}:${index + 1}: ${code}`];
    });
}

test('keys that users choose are looked up with ownValue', () => {
  expect(
    files.flatMap(lookupsOf),
    'use ownValue(map, key) of machinery/collections/string-map.ts, or say in ALLOWED why the key is safe',
  ).toEqual([]);
});

test('the search matches such lookups', () => {
  for (const line of [
    'const value = labels[key];',
    'return metadata.labels?.[key] ?? "";',
    'if (labels[key] !== undefined) {',
    'const text = node.status.allocatable![name];',
    'if (key in metadata.labels) {',
  ])
    expect(LOOKUP.test(line) || IN.test(line), line).toBe(true);
  for (const line of [
    "labels['app']",
    'labels[APP]',
    'labels[key] = value;',
    'labels[key] === value',
    'limits[name] ??= amount',
  ])
    expect(LOOKUP.test(line) || IN.test(line), line).toBe(false);
});
