import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { allSchemas } from '#api/all-schemas.ts';
import { readEncryptionFile, resourceOfKeys } from './encryption.ts';
import { UserError } from '../user-error.ts';

const dir = mkdtempSync(join(tmpdir(), 'encryption-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

test.each([
  ['/registry/secrets/default/a', 'secrets', ''],
  ['/registry/services/specs/default/a', 'services', ''],
  ['/registry/services/endpoints/default/a', 'endpoints', ''],
  ['/registry/minions/a', 'nodes', ''],
  ['/registry/events/default/a', 'events', ''],
  ['/registry/deployments/default/a', 'deployments', 'apps'],
  ['/registry/ingress/default/a', 'ingresses', 'networking.k8s.io'],
  [
    '/registry/apiextensions.k8s.io/customresourcedefinitions/a',
    'customresourcedefinitions',
    'apiextensions.k8s.io',
  ],
  ['/registry/example.com/widgets/default/a', 'widgets', 'example.com'],
])('%s is of %s', (key, resource, group) => {
  expect(resourceOfKeys(allSchemas.resources())(key)).toEqual({ group, resource });
});

test.each(['/registry/ranges/serviceips', '/other/secrets/default/a'])(
  '%s is of no resource',
  (key) => {
    expect(resourceOfKeys(allSchemas.resources())(key)).toBeUndefined();
  },
);

test('a file that cannot be used is refused with its name and what is wrong', () => {
  const path = join(dir, 'config.yaml');
  writeFileSync(
    path,
    'apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources: []\n',
  );
  expect(() => readEncryptionFile(path)).toThrow(UserError);
  expect(() => readEncryptionFile(path)).toThrow(`${path}: resources: Required value`);
  expect(() => readEncryptionFile(join(dir, 'none.yaml'))).toThrow('--encryption-provider-config');
});
