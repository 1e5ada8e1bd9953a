// docs/api-coverage.md matches the server's own discovery and OpenAPI documents.

import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { beforeAll, expect, test } from 'vitest';

import { apiCoverage, type Coverage, PAGE, withoutReference } from './api-coverage.ts';

const reference = fileURLToPath(new URL('../../shared/reference/openapi-v2.json', import.meta.url));
let coverage: Coverage;
beforeAll(async () => {
  coverage = await apiCoverage();
});
const page = (): string => readFileSync(PAGE, 'utf8');

test('the page is current: kinds, verbs, encodings, columns (else: npm run coverage:api)', () => {
  expect(withoutReference(page())).toBe(coverage.withoutReference);
});

test.skipIf(!existsSync(reference))(
  '… golden files and OpenAPI (skipped without ../shared)',
  () => {
    expect(page()).toBe(coverage.page);
  },
);

test('every kind supports all encodings', () => {
  const rows = coverage.page
    .split('\n')
    .filter((line) => line.startsWith('| ') && !line.startsWith('| Group'));
  expect(
    rows.filter((row) => !row.includes('| JSON YAML protobuf |') && !row.startsWith('| ---')),
  ).toEqual([]);
});
