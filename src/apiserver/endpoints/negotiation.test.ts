import { describe, expect, test } from 'vitest';

import type { StatusError } from '#machinery/apierrors.ts';
import { negotiate, negotiateStatus } from './negotiation.ts';

const JSON_TYPE = 'application/json';
const YAML = 'application/yaml';
const PROTOBUF = 'application/vnd.kubernetes.protobuf';
const table = (type: string): string => `${type};as=Table;g=meta.k8s.io;v=v1`;
const metadata = (type: string, as = 'PartialObjectMetadata'): string =>
  `${type};as=${as};g=meta.k8s.io;v=v1`;

const asking = (accept: string) => ({ headers: { accept }, query: new URLSearchParams() });
const answer = (accept: string, watch = false): string => {
  const { format, as } = negotiate(asking(accept), { transforms: true, watch });
  return `${format.mediaType} ${as}`;
};
const refusal = (accept: string, watch = false): string => {
  try {
    return answer(accept, watch);
  } catch (error) {
    return `${(error as StatusError).code}: ${(error as StatusError).message}`;
  }
};

const NONE =
  '406: only the following media types are accepted: application/json, application/yaml, ' +
  'application/vnd.kubernetes.protobuf';
const NO_STREAM =
  '406: only the following media types are accepted: application/json;stream=watch, ' +
  'application/vnd.kubernetes.protobuf;stream=watch';

test('a Table is not available without columns: the next clause is used, else none', () => {
  const ask = (accept: string) => negotiate(asking(accept), { transforms: true, tables: false });
  expect(ask(`${table(JSON_TYPE)},${YAML}`)).toMatchObject({
    format: { mediaType: YAML },
    as: 'object',
  });
  expect(ask(metadata(JSON_TYPE)).as).toBe('partialMetadata');
  expect(() => ask(table(JSON_TYPE))).toThrow('only the following media types are accepted');
});

describe('objects and lists', () => {
  test.each([
    ['*/*', `${JSON_TYPE} object`],
    [`application/*,${JSON_TYPE}`, `${JSON_TYPE} object`],
    [PROTOBUF, `${PROTOBUF} object`],
    [`${PROTOBUF},${JSON_TYPE}`, `${PROTOBUF} object`],
    [`${JSON_TYPE},${PROTOBUF}`, `${JSON_TYPE} object`],
    [`${PROTOBUF}, */*`, `${PROTOBUF} object`],
    // A named type comes before a wildcard, in any order.
    [`*/*,${PROTOBUF}`, `${PROTOBUF} object`],
    [`application/*,*/*,${YAML}`, `${YAML} object`],
    [`${PROTOBUF};q=0.5,${YAML};q=0.9`, `${YAML} object`],
    [`text/html,${PROTOBUF}`, `${PROTOBUF} object`],
    [`${PROTOBUF};stream=watch`, `${PROTOBUF} object`],
    [`${PROTOBUF};stream=other,${YAML}`, `${YAML} object`],
    [`${YAML};stream=watch,${PROTOBUF}`, `${PROTOBUF} object`],
    [table(JSON_TYPE), `${JSON_TYPE} table`],
    [table(YAML), `${YAML} table`],
    // A Table has no form in protobuf, so the next clause is used.
    [`${table(PROTOBUF)},${table(JSON_TYPE)}`, `${JSON_TYPE} table`],
    [`${table(PROTOBUF)},${PROTOBUF}`, `${PROTOBUF} object`],
    [metadata(PROTOBUF), `${PROTOBUF} partialMetadata`],
    [metadata(PROTOBUF, 'PartialObjectMetadataList'), `${PROTOBUF} partialMetadata`],
    [`${metadata(PROTOBUF)},${metadata(JSON_TYPE)},${JSON_TYPE}`, `${PROTOBUF} partialMetadata`],
    [`${PROTOBUF};as=Other;g=meta.k8s.io;v=v1,${YAML}`, `${YAML} object`],
    [`${JSON_TYPE};v=v1,${YAML}`, `${YAML} object`],
  ])('%s gets %s', (accept, expected) => {
    expect(answer(accept)).toBe(expected);
  });

  // Upstream's routes know neither.
  test.each(['*', 'application/*'])('%s is not acceptable alone', (accept) => {
    expect(() => answer(accept)).toThrow('406: Not Acceptable');
  });

  test.each([table(PROTOBUF), `${PROTOBUF};as=PartialObjectMetadata`])(
    '%s cannot be had',
    (accept) => {
      expect(refusal(accept)).toBe(NONE);
    },
  );

  test.each(['text/html', 'application', ''.padEnd(3, ',')])(
    '%s is nothing that there is',
    (accept) => {
      expect(refusal(accept)).toBe(
        '406: 406: Not Acceptable\n\nAvailable representations: application/json, ' +
          'application/yaml, application/vnd.kubernetes.protobuf',
      );
    },
  );
});

describe('the older version of meta.k8s.io', () => {
  const old = (type: string): string => type.replace('v=v1', 'v=v1beta1');

  test.each([
    [old(table(JSON_TYPE)), 'table'],
    [old(metadata(PROTOBUF)), 'partialMetadata'],
    [old(metadata(JSON_TYPE, 'PartialObjectMetadataList')), 'partialMetadata'],
  ])('%s', (accept, as) => {
    expect(negotiate(asking(accept), { transforms: true })).toMatchObject({
      as,
      metaVersion: 'v1beta1',
    });
  });

  test('is not allowed for a plain object', () => {
    expect(negotiate(asking(JSON_TYPE), { transforms: true }).metaVersion).toBeUndefined();
    expect(refusal(table(JSON_TYPE).replace('v=v1', 'v=v1beta2'))).toBe(NONE);
  });
});

describe('watches', () => {
  test.each([
    [`${PROTOBUF};stream=watch`, `${PROTOBUF} object`],
    [`${JSON_TYPE};stream=watch`, `${JSON_TYPE} object`],
    [`${PROTOBUF}, */*`, `${PROTOBUF} object`],
    [`${metadata(PROTOBUF)},${metadata(JSON_TYPE)}`, `${PROTOBUF} partialMetadata`],
  ])('%s gets %s', (accept, expected) => {
    expect(answer(accept, true)).toBe(expected);
  });

  test.each([YAML, `${YAML},${JSON_TYPE}`])('%s cannot be had', (accept) => {
    expect(refusal(accept, true)).toBe(NO_STREAM);
  });
});

describe('errors', () => {
  test.each([
    [PROTOBUF, PROTOBUF],
    [`${metadata(PROTOBUF)},${PROTOBUF}`, PROTOBUF],
    [YAML, YAML],
    // An error is sent in another form rather than not at all.
    [table(YAML), JSON_TYPE],
    [metadata(PROTOBUF), JSON_TYPE],
    ['text/html', JSON_TYPE],
  ])('for %s are sent as %s', (accept, expected) => {
    expect(negotiateStatus(asking(accept)).mediaType).toBe(expected);
  });
});
