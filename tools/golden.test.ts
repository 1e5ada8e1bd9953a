import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';

import { encodeProtobuf } from '#api/machinery/codec/protobuf/index.ts';
import { allSchemas } from '#api/all-schemas.ts';
import { runGolden } from './golden.ts';

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'golden-'))));
afterEach(() => rmSync(folder, { recursive: true }));

const role = {
  kind: 'Role',
  apiVersion: 'rbac.authorization.k8s.io/v1',
  metadata: { name: 'a<b' },
  rules: [{ verbs: ['get'], apiGroups: [''], resources: ['pods'] }],
};

function put(name: string, object: object): void {
  writeFileSync(
    join(folder, `${name}.json`),
    JSON.stringify(object, null, 2).replaceAll('<', String.raw`\u003c`),
  );
  writeFileSync(
    join(folder, `${name}.pb`),
    encodeProtobuf(allSchemas.message('rbac/v1.Role'), role),
  );
}

test('equal objects are counted, and differences are printed', () => {
  put('rbac.authorization.k8s.io.v1.Role', role);
  put('rbac.authorization.k8s.io.v1.RoleBinding', { ...role, kind: 'RoleBinding' });
  put('rbac.authorization.k8s.io.v1.Role.after_roundtrip', {});
  put('unknown.v1.Kind', {});
  const lines: string[] = [];
  expect(runGolden(folder, (line) => lines.push(line))).toBe(1);
  expect(lines.at(-1)).toBe('1 of 3 alike');
  expect(lines).toContain('unknown.v1.Kind: no such kind is known');
  expect(lines.join()).toContain(
    'rbac.authorization.k8s.io.v1.RoleBinding: the objects read differ',
  );
  expect(lines.join()).toContain('after_roundtrip: not compared');
});

test('success if all are equal', () => {
  put('rbac.authorization.k8s.io.v1.Role', role);
  const lines: string[] = [];
  expect(runGolden(folder, (line) => lines.push(line))).toBe(0);
  expect(lines).toEqual(['1 of 1 alike']);
});
