import { describe, expect, test } from 'vitest';
import { VirtualClock } from '#machinery/clock.ts';
import { ExecCredentials, type ExecCredentialsConfig } from './exec.ts';
import { runCommand, type CommandRequest } from './run-command.ts';

const V1 = 'client.authentication.k8s.io/v1';

function setUp(
  outputs: readonly (string | object | Error)[],
  config: Partial<ExecCredentialsConfig> = {},
) {
  const clock = new VirtualClock();
  const requests: CommandRequest[] = [];
  const source = new ExecCredentials({
    apiVersion: V1,
    command: 'plugin',
    clock,
    isTerminal: false,
    run: async (request) => {
      const output = outputs[requests.push(request) - 1] ?? outputs.at(-1);
      if (output instanceof Error) throw output;
      return { stdout: typeof output === 'string' ? output : JSON.stringify(output), exitCode: 0 };
    },
    ...config,
  });
  return { clock, requests, source };
}

const credential = (status: unknown, apiVersion = V1) => ({
  apiVersion,
  kind: 'ExecCredential',
  status,
});

describe('ExecCredentials', () => {
  test('runs the program once, until the credentials expire', async () => {
    const { clock, requests, source } = setUp([
      credential({ token: 'a', expirationTimestamp: '2026-01-01T01:00:00Z' }),
      credential({ token: 'b' }),
    ]);
    expect(await Promise.all([source.current(), source.current()])).toEqual([
      { token: 'a' },
      { token: 'a' },
    ]);
    await clock.advance('59m');
    expect(await source.current()).toEqual({ token: 'a' });
    expect(requests).toHaveLength(1);
    await clock.advance('1m');
    expect(await source.current()).toEqual({ token: 'b' });
    expect(requests).toHaveLength(2);
  });

  test('runs it again only after a rejection of the latest credentials', async () => {
    const { requests, source } = setUp([credential({ token: 'a' }), credential({ token: 'b' })]);
    const first = await source.current();
    source.invalidate(first);
    expect(await source.current()).toEqual({ token: 'b' });
    source.invalidate(first);
    expect(await source.current()).toEqual({ token: 'b' });
    expect(requests).toHaveLength(2);
  });

  test('passes arguments, variables and the cluster', async () => {
    const cluster = { server: 'https://c', 'certificate-authority-data': 'Q0E=' };
    const { requests, source } = setUp([credential({ token: 'a' })], {
      args: ['get', 'token'],
      env: [{ name: 'PROFILE', value: 'x' }],
      cluster,
    });
    await source.current();
    const [{ command, args, env, interactive }] = requests as [CommandRequest];
    expect({ command, args, interactive }).toEqual({
      command: 'plugin',
      args: ['get', 'token'],
      interactive: false,
    });
    expect(env['PROFILE']).toBe('x');
    expect(JSON.parse(env['KUBERNETES_EXEC_INFO'] ?? '')).toEqual({
      apiVersion: V1,
      kind: 'ExecCredential',
      spec: { cluster, interactive: false },
    });
  });

  test.each([
    ['no JSON', 'nothing', /the output is not JSON/],
    [
      'another version',
      credential({ token: 'a' }, 'client.authentication.k8s.io/v1beta1'),
      /plugin returned version .*v1beta1/,
    ],
    ['no status', { apiVersion: V1, kind: 'ExecCredential' }, /didn't return a status/],
    ['no credentials', credential({}), /didn't return a token or cert\/key pair/],
    [
      'a certificate without a key',
      credential({ clientCertificateData: 'c' }),
      /only certificate or key, not both/,
    ],
    [
      'a time that is none',
      credential({ token: 'a', expirationTimestamp: 'soon' }),
      /expirationTimestamp that is not a time/,
    ],
    ['null', 'null', /plugin returned version/],
  ])('rejects %s', async (_, output, message) => {
    await expect(setUp([output]).source.current()).rejects.toThrow(message);
  });

  test('shows the hint if the program does not exist', async () => {
    const missing = Object.assign(new Error('spawn plugin ENOENT'), { code: 'ENOENT' });
    const { source } = setUp([missing], { installHint: 'install it from example.com' });
    await expect(source.current()).rejects.toThrow(
      /executable not found\n\ninstall it from example.com/,
    );
  });

  test('rejects other API versions, and interactive programs without a terminal', async () => {
    expect(() => setUp([], { apiVersion: 'client.authentication.k8s.io/v1alpha1' })).toThrow(
      /apiVersion must be one of/,
    );
    const { source } = setUp([credential({ token: 'a' })], { interactiveMode: 'Always' });
    await expect(source.current()).rejects.toThrow(/not a terminal/);
  });
});

describe('runCommand', () => {
  const request = { args: [], env: {}, interactive: false, timeoutMs: 10_000 };

  test('returns output and exit code, without a shell', async () => {
    const args = [
      '-e',
      'process.stdout.write(process.argv[1] + process.env.X); process.exitCode = 3',
      '$(id)',
    ];
    expect(
      await runCommand({ ...request, command: process.execPath, args, env: { X: '!' } }),
    ).toEqual({
      stdout: '$(id)!',
      exitCode: 3,
    });
  });

  test('rejects a program that does not exist, and one with too much output', async () => {
    await expect(runCommand({ ...request, command: '/does/not/exist' })).rejects.toThrow(/ENOENT/);
    const args = ['-e', 'process.stdout.write("x".repeat(3e6))'];
    await expect(runCommand({ ...request, command: process.execPath, args })).rejects.toThrow(
      /larger than/,
    );
  });
});
