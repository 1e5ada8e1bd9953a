// Files of variables, and the environment that is made of them.

import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { execute } from '#machinery/execute.ts';
import { makeContainer, makePod } from '../testing/make-pod.ts';
import { parseEnvFile } from './env-file.ts';
import { makeEnvironment } from './make-environment.ts';
import { ServiceVariables } from './service-variables.ts';

describe('parseEnvFile', () => {
  test.each([
    ['a value', `KEY='value'`, 'value'],
    ['a value with a comment', `KEY='value' # comment`, 'value'],
    ['indented, after others', `# first\n\n  \nOTHER='x'\n\tKEY='value'\n`, 'value'],
    ['several lines', `KEY='one\n # two\n\nthree'`, 'one\n # two\n\nthree'],
    ['as it is', `KEY='$HOME \\n "x" =y'`, '$HOME \\n "x" =y'],
    ['the first one', `KEY='one'\nKEY='two'`, 'one'],
    ['an empty assignment', `KEY= 'value'`, ''],
    ['no such variable', `KEYS='value'`, ''],
    ['no lines', '', ''],
    ['a line end of Windows', `KEY='value'\r\n`, 'value'],
    ['before a mistake', `KEY='value'\nnonsense`, 'value'],
  ])('%s', (_, text, value) => expect(parseEnvFile(text, 'KEY')).toBe(value));

  test.each([
    [`nonsense`, `at line 1: missing '='`],
    [`\n='x'`, 'at line 2: empty variable name'],
    [`KEY ='x'`, `at line 1: whitespace before '=' is not allowed`],
    [`KEY=x`, 'at line 1: value must be enclosed in single quotes'],
    [`KEY="x"`, 'at line 1: value must be enclosed in single quotes'],
    [`A='1\n2'\nKEY='x' y`, 'at line 3: unexpected content after closing quote'],
    [`A='1'\nKEY='x\ny`, 'starting at line 2: unclosed single quote'],
  ])('%j is rejected', (text, message) =>
    expect(() => parseEnvFile(text, 'KEY')).toThrow(
      `invalid environment variable format ${message}`,
    ),
  );

  test('a line that is too long is rejected', () => {
    expect(() => parseEnvFile(`A='${'x'.repeat(65_536)}'`, 'A')).toThrow('too long');
  });
});

describe('variables from files', () => {
  let volume: string;
  beforeEach(async () => {
    volume = await mkdtemp(join(tmpdir(), 'env-file-'));
    await mkdir(join(volume, 'etc'));
    await writeFile(join(volume, 'etc/env'), `A='1'\nB='2'\n`);
  });
  afterEach(() => rm(volume, { recursive: true, force: true }));

  async function environment(
    key: string,
    more: { path?: string; volumeName?: string; optional?: boolean } = {},
  ): Promise<string | undefined> {
    const fileKeyRef = { volumeName: 'config', path: 'etc/env', key, ...more };
    const container = makeContainer('main', { env: [{ name: 'X', valueFrom: { fileKeyRef } }] });
    const variables = await makeEnvironment({
      pod: makePod({ spec: { containers: [container], enableServiceLinks: false } }),
      container,
      services: new ServiceVariables(() => []),
      objects: {
        configMap: () => Promise.reject(new Error('none')),
        secret: () => Promise.reject(new Error('none')),
      },
      downward: { podIPs: [], hostIPs: [], nodeAllocatable: {} },
      volumePath: (name) => (name === 'config' ? volume : undefined),
      onInvalidNames: () => undefined,
    });
    return variables.get('X');
  }

  test('a key of a file', async () => {
    expect(await environment('B')).toBe('2');
  });

  test('a missing key fails, unless it is optional', async () => {
    await expect(environment('C')).rejects.toThrow(
      `environment variable key "C" not found in file "${volume}/etc/env"`,
    );
    expect(await environment('C', { optional: true })).toBeUndefined();
  });

  test('a missing file, another type and a volume that is not there fail', async () => {
    const message = `couldn't parse env file`;
    await expect(environment('A', { path: 'etc/none', optional: true })).rejects.toThrow(message);
    await expect(environment('A', { path: 'etc' })).rejects.toThrow(message);
    await execute(['mkfifo', join(volume, 'pipe')], '');
    await expect(environment('A', { path: 'pipe' })).rejects.toThrow(message);
    await expect(environment('A', { volumeName: 'other' })).rejects.toThrow(
      'cannot find the volume "other" referenced by FileKeyRef',
    );
  });

  test('a link does not lead out of the volume', async () => {
    const outside = await mkdtemp(join(tmpdir(), 'env-file-outside-'));
    try {
      await writeFile(join(outside, 'env'), `A='secret'`);
      await symlink(join(outside, 'env'), join(volume, 'link'));
      await expect(environment('A', { path: 'link' })).rejects.toThrow(`couldn't parse env file`);
    } finally {
      await rm(outside, { recursive: true, force: true });
    }
  });
});
