import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { allSchemas } from '#api/all-schemas.ts';
import { configurationSchemas } from '#api/configuration-schemas.ts';
import { constantName, folderOf, render } from './render.ts';

const schemas = [...new Set([...allSchemas.schemas, ...configurationSchemas.schemas])];
const api = fileURLToPath(new URL('../../src/api/', import.meta.url));

/** Removes the layout: the formatter may break lines, and change nothing else. */
function withoutLayout(text: string): string {
  return text
    .replace(/\s+/g, '')
    .replace(/=\|/g, '=')
    .replace(/,([}\])])/g, '$1');
}

describe('generated files', () => {
  test.each(schemas)('$key is current (else: npm run generate)', (schema) => {
    for (const { path, text } of render(
      schema,
      schemas,
      existsSync(`${api}${folderOf(schema.key)}/helpers.ts`),
    )) {
      expect(withoutLayout(readFileSync(api + path, 'utf8'))).toBe(withoutLayout(text));
    }
  });

  test('names constants after kinds', () => {
    expect(constantName('ReplicaSet', 'replicasets')).toBe('replicaSets');
    expect(constantName('NetworkPolicy', 'networkpolicies')).toBe('networkPolicies');
    expect(constantName('CSIDriver', 'csidrivers')).toBe('csiDrivers');
    expect(constantName('Endpoints', 'endpoints')).toBe('endpoints');
    expect(constantName('APIService', 'apiservices')).toBe('apiServices');
    expect(constantName('NodeMetrics', 'nodes')).toBe('nodeMetrics');
  });
});
