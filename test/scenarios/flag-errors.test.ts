// Bad values of flags: for every flag of every command, the error is one line that names the flag,
// however late the value is checked.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Command, Option } from 'commander';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { createProgram, execute } from '#cli/cox.ts';
import { describeError } from '#cli/describe-error.ts';
import {
  initCertificates,
  nodeCertificate,
  roleKubeconfig,
} from '#cluster/credentials/role-certificates.ts';

let dir: string;
beforeAll(async () => {
  // Each started command listens for signals, and for errors of its output.
  for (const emitter of [process, process.stdout, process.stderr]) emitter.setMaxListeners(0);
  dir = mkdtempSync(join(tmpdir(), 'cox-flags-'));
  writeFileSync(join(dir, 'bad'), 'neither: [YAML nor PEM');
  const certDir = join(dir, 'pki');
  await initCertificates({ certDir, hosts: [], serviceClusterIpRange: '10.96.0.0/16' });
  await nodeCertificate({ certDir, node: 'worker', hosts: [] });
  await roleKubeconfig({
    certDir,
    role: 'scheduler',
    server: 'https://127.0.0.1:1',
    path: join(dir, 'kubeconfig'),
  });
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

/** Returns the arguments that each command needs beside the tested flag. */
const baseArguments = (): Readonly<Record<string, readonly string[]>> => ({
  up: [
    '--data-dir',
    join(dir, 'data'),
    '--store',
    'memory',
    '--runtime',
    'simulated',
    '--secure-port',
    '0',
    '--quiet',
  ],
  apiserver: [
    '--store=memory',
    `--cert-dir=${join(dir, 'pki')}`,
    '--bind-address=127.0.0.1',
    '--secure-port=0',
  ],
  'controller-manager': [`--kubeconfig=${join(dir, 'kubeconfig')}`, '--secure-port=0'],
  scheduler: [`--kubeconfig=${join(dir, 'kubeconfig')}`, '--secure-port=0'],
  kubelet: [
    `--kubeconfig=${join(dir, 'kubeconfig')}`,
    `--cert-dir=${join(dir, 'pki')}`,
    `--data-dir=${join(dir, 'node')}`,
    '--runtime=simulated',
    '--hostname-override=worker',
    '--pod-cidr=10.244.1.0/24',
    '--port=0',
  ],
});

const missing = '/dev/null/missing';
/** Bad values, by the placeholder of the value in the help text. */
const badValues: Readonly<Record<string, readonly string[]>> = {
  '<file>': [missing, 'BAD'],
  '<files>': ['x', missing, `${missing},${missing}`, 'BAD,BAD'],
  '<dir>': [missing],
  '<port>': ['-1', '65536', 'x', '1e3', ''],
  '<ports>': ['x', '5-1', '0-70000'],
  '<address>': ['x', '1.2.3', ''],
  '<cidr>': ['x', '10.0.0.0/33'],
  '<cidrs>': ['x', '10.96.0.0', '10.96.0.0/16,10.97.0.0/16'],
  '<ranges>': ['x', '10.0.0.0/33'],
  '<count>': ['x', '-1', '1.5'],
  '<number>': ['x', '-1', '0'],
  '<numbers>': ['x', '0', '23,23', '9999'],
  '<days>': ['x', '-1', '1.5'],
  '<megabytes>': ['x', '-1', '1.5'],
  '<bytes>': ['x', '-1', '0'],
  '<headers>': ['x', 'a b:c'],
  '<seconds>': ['x', '1.5'],
  '<level>': ['x'],
  '<duration>': ['x', '15', '-'],
  '[bool]': ['yes', ''],
  '<labels>': ['x', 'a=b=c'],
  '<engine>': ['x', ''],
  '<runtime>': ['x'],
  '<kind>': ['x', 'aws'],
  '<format>': ['x'],
  '<version>': ['VersionTLS10', 'x'],
  '<modes>': ['x', 'ABAC', 'Node,Node'],
  '<directives>': ['max-age', 'max-age=1=2', 'includesubdomains'],
  '<mode>': ['x', 'RBAC', ''],
  '<thresholds>': ['x', 'memory.available<', 'memory.available<x', 'none.available<5%'],
  '<periods>': ['x', 'memory.available=x'],
  '<amounts>': ['x', 'memory=x'],
  '<percent>': ['x', '-1', '101'],
  '<share>': ['x', '-1', '0.03', ''],
  '<size>': ['x', '-1'],
  '<policy>': ['x', ''],
  '<options>': ['x', 'x=y'],
  '<cpus>': ['x', '3-1'],
  '<scope>': ['x'],
  '<key=value>': ['x'],
};
/** Flags whose values are arbitrary text, or are checked by another program, with the reason. */
const unchecked: Readonly<Record<string, string>> = {
  '<prefix>': 'any text',
  '<prefixes>': 'any text',
  '<url>': 'any text',
  '<path>': 'is written when the cluster is there',
  '<socket>': 'is tried by the runtime',
  '<namespace>': 'any text',
  '<settings>': 'tests of runtime-config and of feature gates',
  '<names>': 'below',
  '<name>': 'any text',
  '<urls>': 'needs an etcd',
  '<addresses>': 'any text',
  '<domain>': 'any text',
  '<hosts>': 'any text',
  '<id>': 'any text',
  '<claim>': 'any text',
  '<types>': 'any text',
};
/** Flags for files and directories that are created, or may be missing. */
const lenient = new Set([
  '--cert-dir',
  '--data-dir',
  '--root-dir',
  '--resolv-conf',
  // Not read as long as the kubeconfig is valid: kubeadm deletes it.
  '--bootstrap-kubeconfig',
  '--pod-manifest-path',
  '--volume-plugin-dir',
  '--etcd-cafile',
  '--etcd-certfile',
  '--etcd-keyfile',
]);
/** Values that are good for a flag although they are bad for others of its kind. */
const good: Readonly<Record<string, readonly string[]>> = {
  '--default-not-ready-toleration-seconds': ['-1'],
  '--default-unreachable-toleration-seconds': ['-1'],
  '--cluster-cidr': ['10.96.0.0/16,10.97.0.0/16'],
  // No limit.
  '--pod-max-pids': ['-1'],
  '--registry-qps': ['0'],
  '--registry-burst': ['0'],
  '--event-qps': ['0'],
  '--event-burst': ['0'],
};

async function stderrOf(args: readonly string[]): Promise<{ status: number; text: string }> {
  let text = '';
  const err = vi.spyOn(process.stderr, 'write').mockImplementation((chunk) => {
    text += String(chunk);
    return true;
  });
  let started!: (value: number) => void;
  const running = new Promise<number>((resolve) => (started = resolve));
  const out = vi.spyOn(process.stdout, 'write').mockImplementation((chunk) => {
    if (/^(ready:|cluster ready)/.test(String(chunk))) started(0);
    return true;
  });
  try {
    const status = await Promise.race([execute(args), running]);
    return { status, text };
  } finally {
    err.mockRestore();
    out.mockRestore();
  }
}

const commands = createProgram().commands.filter((command) =>
  ['up', 'apiserver', 'controller-manager', 'scheduler', 'kubelet'].includes(command.name()),
);
const cases = commands.flatMap((command: Command) =>
  command.options.flatMap((option: Option) => {
    const placeholder = /[<[].*[>\]]/.exec(option.flags)?.[0];
    return placeholder === undefined
      ? []
      : [{ command: command.name(), flag: option.long as string, placeholder }];
  }),
);

test('every kind of value has bad values, or a reason', () => {
  const kinds = new Set(cases.map(({ placeholder }) => placeholder));
  expect(
    [...kinds].filter((kind) => badValues[kind] === undefined && unchecked[kind] === undefined),
  ).toEqual([]);
});

describe.each(
  cases.filter(
    ({ flag, placeholder }) => badValues[placeholder] !== undefined && !lenient.has(flag),
  ),
)('cox $command $flag', ({ command, flag, placeholder }) => {
  const values = badValues[placeholder]!.filter((value) => !good[flag]?.includes(value));
  test.each(values)('%j', async (value) => {
    const bad = value.replaceAll('BAD', join(dir, 'bad'));
    const base = baseArguments()[command]!;
    const { status, text } = await stderrOf([command, ...base, `${flag}=${bad}`]);
    const lines = text
      .split('\n')
      .filter((line) => line !== '' && !/^(preparing|starting|connecting|registering)/.test(line));
    expect(lines.filter((line) => !line.startsWith('cox: warning: '))).toEqual([lines.at(-1)]);
    expect(lines.at(-1)).toMatch(/^cox: (?!internal)/);
    expect(lines.at(-1)).toContain(flag);
    expect(lines.at(-1)?.length).toBeLessThan(600);
    expect(status).toBe(1);
  });
});

test.each([
  ['up', '--no-such-flag', "unknown option '--no-such-flag'"],
  ['apiserver', '--secure-prt=1', "unknown option '--secure-prt=1'"],
  ['apiserver', '--disable-admission-plugins=Foo', 'admission plugin "Foo" is unknown'],
  ['apiserver', '--enable-admission-plugins=AlwaysDeny', 'AlwaysDeny is not built in'],
  ['apiserver', '--feature-gates=Foo=true', 'unrecognized feature gate: Foo'],
  ['apiserver', '--runtime-config=foo/v1=maybe', '--runtime-config'],
  ['apiserver', '--audit-policy-file=x', '--audit-policy-file: ENOENT'],
  ['controller-manager', '--controllers=nope', 'nope'],
  ['scheduler', '--kubeconfig', 'flag needs an argument: --kubeconfig'],
])('cox %s %s', async (command, flag, message) => {
  const { status, text } = await stderrOf([command, ...baseArguments()[command]!, flag]);
  expect(text).toMatch(/^cox: .*\n$/);
  expect(text).toContain(message);
  expect(status).toBe(1);
});

test('an unexpected error shows no line of the program', () => {
  const error = new Error(`broken${'x'.repeat(100_000)}`);
  error.stack = `${'y'.repeat(100_000)}\n${error.stack}`;
  const { text, status } = describeError(error);
  expect(text).toMatch(/^cox: internal error: Error: brokenx+…\n +at /);
  expect(text.length).toBeLessThan(5000);
  expect(status).toBe(1);
});
