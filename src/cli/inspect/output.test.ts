// Texts of the commands, from values as they come from a cluster: nothing in them acts on a terminal.

import { describe, expect, test, vi } from 'vitest';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import picocolors from 'picocolors';
import type { Cause, Explanation } from '#client/explain/index.ts';
import { kubeconfigOf, withConnection } from './connection.ts';
import { doctorText } from './doctor.ts';
import { bytes, causeTree, table } from './output.ts';
import { statusText } from './status.ts';
import { explanationText, parseTarget } from './why.ts';

const plain = picocolors.createColors(false);
const HOSTILE = 'a\x1b[2J\x9b1m\nb\u202e';
const SAFE = 'a^[[2J\\u009b1m^Jb\\u202e';

const leaf = (text: string, causes: readonly Cause[] = []): Cause => ({
  severity: 'problem',
  text,
  source: text,
  causes,
});

describe('texts', () => {
  test('a tree has a line for each cause', () => {
    const tree = leaf('top', [leaf('first', [leaf('deep')]), leaf('second')]);
    expect(causeTree(tree, plain)).toBe(
      '✗ top  [top]\n├─ ✗ first  [first]\n│  └─ ✗ deep  [deep]\n└─ ✗ second  [second]\n',
    );
    expect(causeTree(leaf(HOSTILE), plain)).toBe(`✗ ${SAFE}  [${SAFE}]\n`);
  });

  test('a table is aligned, and its cells are harmless', () => {
    expect(
      table([
        ['NAME', 'X'],
        ['web', '1'],
        [HOSTILE, '2'],
      ]),
    ).toBe(
      `NAME${' '.repeat(SAFE.length - 4)}   X\nweb${' '.repeat(SAFE.length - 3)}   1\n${SAFE}   2\n`,
    );
    expect(table([])).toBe('');
  });

  test('an explanation has the answer first', () => {
    const explanation: Explanation = {
      object: { group: '', kind: 'Pod', namespace: 'x', name: HOSTILE },
      tree: leaf('top', [leaf('end')]),
      because: [leaf('end')],
      owners: [{ severity: 'info', text: 'replicaset/a', causes: [] }],
      unread: { Event: HOSTILE },
    };
    expect(explanationText(explanation, plain).split('\n')).toEqual([
      `pod/${SAFE} in the namespace x`,
      '',
      'because',
      '  ✗ end  [end]',
      '',
      'in full',
      '  ✗ top  [top]',
      '  └─ ✗ end  [end]',
      '',
      'belongs to',
      '  · replicaset/a',
      '',
      `not read: Event: ${SAFE}`,
      '',
    ]);
  });

  test('a status of a process that does not answer', () => {
    const local = {
      dataDir: '/data',
      state: 'running',
      pid: 7,
      startedAt: 0,
      storeBytes: 2048,
      problems: [],
    } as const;
    const problem = { severity: 'problem', text: HOSTILE, count: 1 } as const;
    expect(statusText({ problems: [problem], local }, plain)).toBe(
      `what is wrong\n  ✗ ${SAFE}\n\nprocess          7, since 1970-01-01T00:00:00.000Z\n` +
        'data directory   /data\nstore            2.0 KiB\n',
    );
  });

  test('a diagnosis has the commands below what they repair', () => {
    const findings = [{ state: 'missing', text: 'no runc', repair: ['apk add runc'] }] as const;
    expect(doctorText([{ name: 'containers', state: 'missing', findings }], plain)).toBe(
      'containers: not possible yet\n  ✗ no runc\n      $ apk add runc\n',
    );
  });

  test('sizes', () => {
    expect([0, 1023, 1536, 20 * 1024, 5e9].map(bytes)).toEqual([
      '0 B',
      '1023 B',
      '1.5 KiB',
      '20 KiB',
      '4.7 GiB',
    ]);
  });
});

describe('arguments', () => {
  test('name one object', () => {
    expect(parseTarget(['pod/web-0'])).toEqual({ kind: 'pod', name: 'web-0' });
    expect(parseTarget(['pvc', 'data'])).toEqual({ kind: 'pvc', name: 'data' });
    for (const words of [['pod'], ['pod/'], ['/x'], ['a/b/c'], ['a', 'b', 'c'], ['a', '']])
      expect(() => parseTarget(words)).toThrow('name one object');
  });

  test('choose the cluster: flags, then KUBECONFIG, then what is here', () => {
    const dir = mkdtempSync(join(tmpdir(), 'cox-connection-'));
    try {
      mkdirSync(join(dir, 'data'));
      writeFileSync(join(dir, 'data', 'kubeconfig'), '');
      expect(kubeconfigOf({ kubeconfig: 'a' }, {})).toBe('a');
      expect(kubeconfigOf({ dataDir: join(dir, 'data') }, { KUBECONFIG: 'b' })).toBe(
        join(dir, 'data', 'kubeconfig'),
      );
      expect(kubeconfigOf({}, { KUBECONFIG: 'b' })).toBeUndefined();
      expect(() => kubeconfigOf({ dataDir: dir }, {})).toThrow('there is no kubeconfig in');
      expect(() => kubeconfigOf({ dataDir: dir, kubeconfig: 'a' }, {})).toThrow(
        'exclude each other',
      );
    } finally {
      rmSync(dir, { recursive: true });
    }
  });

  test('without any cluster, the error says how to start or name one', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'cox-connection-'));
    const previous = process.cwd();
    vi.stubEnv('KUBECONFIG', '');
    vi.stubEnv('HOME', dir);
    vi.stubEnv('KUBERNETES_SERVICE_HOST', '');
    process.chdir(dir);
    try {
      await expect(withConnection({}, () => Promise.resolve())).rejects.toThrow(
        "there is no cluster in .coxswain: 'cox up' starts one",
      );
    } finally {
      process.chdir(previous);
      vi.unstubAllEnvs();
      rmSync(dir, { recursive: true });
    }
  });
});
