// Differences between kinds in the rules for metadata.

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import { describe, expect, test } from 'vitest';

import { messages } from '#api/testing/manifest.ts';
import { NAME_MESSAGES, rows } from '#api/testing/variation.ts';
import { type NameRules, pathSegmentName } from '#api/machinery/meta/v1/object-meta-validation.ts';
import { validateMetadata, validateMetadataUpdate } from './metadata-validation.ts';

const object = (metadata: object = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Thing',
  metadata: {
    name: 'a',
    uid: '1',
    resourceVersion: '1',
    creationTimestamp: '2026-01-01T00:00:00Z',
    ...metadata,
  },
});
const NO_SLASH = (name: string): string =>
  `metadata.generateName: Invalid value: "${name}": may not contain '/'`;
const NO_DOMAIN = (index: number, name: string): string =>
  `metadata.finalizers[${index}]: Invalid value: "${name}": name is neither a standard ` +
  'finalizer name nor is it fully qualified';
const path: NameRules = { validateName: pathSegmentName };

describe('creations', () => {
  test.each(
    rows<[metadata: object, rules: NameRules, errors: readonly string[]]>([
      [{ generateName: 'a-' }, {}, []],
      [
        { generateName: 'A_b' },
        {},
        [`metadata.generateName: Invalid value: "A_b": ${NAME_MESSAGES.subdomain}`],
      ],
      [{ generateName: 'A_b' }, path, []],
      [{ generateName: 'a/b' }, path, [NO_SLASH('a/b')]],
      [{ name: 'A_b' }, path, []],
      [{ finalizers: ['orphan', 'example.com/a'] }, {}, []],
      [{ finalizers: ['example.com/a', 'b'] }, {}, [NO_DOMAIN(1, 'b')]],
      [{ finalizers: ['b'] }, { anyFinalizer: true }, []],
      [
        { finalizers: ['-'] },
        { anyFinalizer: true },
        [`metadata.finalizers: Invalid value: "-": ${NAME_MESSAGES.namePart}`],
      ],
    ]),
  )('%s', (_, metadata, rules, errors) => {
    expect(messages(validateMetadata(object(metadata), false, rules))).toEqual(errors);
  });
});

describe('updates', () => {
  test.each(
    rows<[metadata: object, rules: NameRules, errors: readonly string[]]>([
      [{ generateName: 'a b' }, {}, []],
      [{ generateName: 'a/b' }, {}, [NO_SLASH('a/b')]],
      [
        { generateName: 'a b' },
        { checksNameOnUpdate: true },
        [`metadata.generateName: Invalid value: "a b": ${NAME_MESSAGES.subdomain}`],
      ],
      [
        { generateName: 'a/b' },
        { checksNameOnUpdate: true },
        [
          NO_SLASH('a/b'),
          `metadata.generateName: Invalid value: "a/b": ${NAME_MESSAGES.subdomain}`,
        ],
      ],
      [{ finalizers: ['b'] }, {}, [NO_DOMAIN(0, 'b')]],
      [{ finalizers: ['b'] }, { anyFinalizer: true }, []],
    ]),
  )('%s', (_, metadata, rules, errors) => {
    expect(messages(validateMetadataUpdate(object(metadata), object(), rules))).toEqual(errors);
  });
});
