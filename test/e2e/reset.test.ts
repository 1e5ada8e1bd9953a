// The output of `cox down`, and the files and processes that `cox reset` removes, after an orderly
// stop and after a crash of everything.

import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { isRoot } from '#cluster/machine/install.ts';
import { bridgeName } from '#network/index.ts';
import { hostProcesses } from '#runtime/host-processes.ts';
import {
  coxArgs,
  coxUp,
  eventually,
  existsSync,
  Kubectl,
  missingContainerd,
  missingKubectl,
  named,
  readFileSync,
  run,
  type RunningCluster,
} from './harness.ts';
import { importBusybox } from './images.ts';
import { replicaSet } from './manifests.ts';

let dir: string;
let cluster: RunningCluster | undefined;
beforeEach(() => (dir = mkdtempSync(join(tmpdir(), 'cox-reset-'))));
afterEach(async () => {
  await cluster?.kill();
  cluster = undefined;
  await cox('reset', '--yes');
  rmSync(dir, { recursive: true, force: true });
});

const cox = (command: string, ...args: string[]) =>
  run(process.execPath, [...coxArgs, command, '--data-dir', data(), ...args]);
const data = (): string => join(dir, 'data');
const mounts = (): readonly string[] =>
  readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[4] ?? '')
    .filter((point) => point.startsWith(`${dir}/`));
/**
 * Returns the processes with the data directory in their command line, environment or root file
 * system.
 */
const processes = (): readonly number[] =>
  hostProcesses()
    .filter(
      (one) =>
        one.args.some((arg) => arg.includes(dir)) ||
        one.environment().some((variable) => variable.includes(dir)) ||
        one
          .info('mountinfo')
          .split('\n')
          .some((line) => line.split(' ')[4] === '/' && line.includes(dir)),
    )
    .map(({ pid }) => pid);

/** Returns a kubectl whose cache is outside of the data directory. */
const kubectlOf = (running: RunningCluster): Kubectl =>
  new Kubectl(running.kubectl().path, running.kubeconfig, dir);

async function ready(kubectl: Kubectl, name: string): Promise<void> {
  await eventually(
    'it to be ready',
    async () => (await kubectl.run(`get rs ${name} -o jsonpath={.status.readyReplicas}`)) === '1',
  );
}

function expectNothingLeft(): void {
  expect(processes()).toEqual([]);
  expect(mounts()).toEqual([]);
  expect(existsSync(data())).toBe(false);
}

describe.skipIf(missingKubectl !== undefined)(named('host processes', missingKubectl), () => {
  const up = async (): Promise<Kubectl> => {
    cluster = await coxUp(['--runtime', 'process'], { dataDir: data() });
    return kubectlOf(cluster);
  };

  test('down reports what still runs; reset asks, and removes it without following links or mounts', async () => {
    const kubectl = await up();
    await kubectl.run('apply -f -', { input: replicaSet('left', 1) });
    await ready(kubectl, 'left');

    const refused = await cox('reset', '--yes');
    expect(refused.status).toBe(1);
    expect(refused.stderr).toMatch(/^cox: a cluster runs on .*--stop\n$/);

    const down = await cox('down');
    expect(down.stdout).toMatch(/pods keep running: \d+ processes.* reset --data-dir/);
    expect(processes()).not.toEqual([]);

    const unconfirmed = await cox('reset');
    expect(unconfirmed.stderr).toMatch(/^cox: this removes .* add --yes to confirm\n$/);
    expect(existsSync(join(data(), 'store'))).toBe(true);

    const outside = join(dir, 'outside');
    mkdirSync(outside);
    writeFileSync(join(outside, 'kept'), 'kept');
    symlinkSync(outside, join(data(), 'kubelet', 'link'));
    writeFileSync(join(data(), 'backup.snap'), 'mine');
    if (isRoot()) {
      mkdirSync(join(data(), 'kubelet', 'mounted'));
      execFileSync('mount', ['--bind', outside, join(data(), 'kubelet', 'mounted')]);
    }
    const reset = await cox('reset', '--yes');
    expect(reset.stderr.split('\n').filter((line) => line.startsWith('cox:'))).toEqual([]);
    expect(reset.stdout).toMatch(/^removed: .*\nleft in .*: backup\.snap\n$/);
    expect(readFileSync(join(outside, 'kept'), 'utf8')).toBe('kept');
    expect(readdirSync(data())).toEqual(['backup.snap']);
    rmSync(data(), { recursive: true });
    expectNothingLeft();

    expect((await cox('reset', '--yes')).stdout).toMatch(/^nothing to remove/);
  });

  test('after kill -9 of the cluster and of a supervisor, with damaged records', async () => {
    const kubectl = await up();
    await kubectl.run('apply -f -', {
      input: replicaSet('crashed', 1, { command: 'setsid sleep 1000 & sleep 1000' }),
    });
    await ready(kubectl, 'crashed');
    await cluster?.kill();
    const containers = join(data(), 'runtime', 'containers');
    for (const id of readdirSync(containers)) {
      process.kill(
        Number(readFileSync(join(containers, id, 'pids'), 'utf8').split('\n')[0]),
        'SIGKILL',
      );
      writeFileSync(join(containers, id, 'record.json'), '');
    }
    writeFileSync(join(data(), 'cox.pid'), '');
    expect(processes()).not.toEqual([]);
    expect((await cox('reset', '--yes')).status).toBe(0);
    expectNothingLeft();
  });
});

test('reset --stop stops the cluster first', async () => {
  cluster = await coxUp(['--runtime', 'simulated', '--store', 'memory'], { dataDir: data() });
  expect((await cox('reset', '--stop', '--yes')).stdout).toMatch(/^stopped; .*\nremoved: /s);
  expectNothingLeft();
});

test('down and reset print JSON', async () => {
  cluster = await coxUp(['--runtime', 'simulated'], { dataDir: data() });
  const stopped = await cox('down', '--output', 'json');
  const dataDir = data();
  expect(JSON.parse(stopped.stdout)).toEqual({
    dataDir,
    stopped: true,
    processes: 0,
    mounts: 0,
    removed: [],
  });
  const removed = await cox('reset', '--yes', '--output', 'json');
  expect(JSON.parse(removed.stdout)).toEqual({
    dataDir,
    removed: true,
    processes: 0,
    mounts: 0,
    kept: [],
  });
  expect(existsSync(dataDir)).toBe(false);
});

test('a directory that no cluster has made is not changed', async () => {
  mkdirSync(join(data(), 'pki'), { recursive: true });
  writeFileSync(join(data(), 'pki', 'ca.key'), 'of another cluster');
  const reset = await cox('reset', '--yes');
  expect(reset.status).toBe(1);
  expect(reset.stderr).toMatch(/is no data directory of a cluster: nothing was removed/);
  expect(readFileSync(join(data(), 'pki', 'ca.key'), 'utf8')).toBe('of another cluster');
});

const missing = missingKubectl ?? missingContainerd;
describe.skipIf(missing !== undefined)(named('containerd', missing), () => {
  const bridge = (): string => bridgeName(join(data(), 'containerd'));
  const nat = async (): Promise<string> => (await run('iptables-save', ['-t', 'nat'])).stdout;
  /** Returns the network namespaces of pods. Other tests have namespaces with other names. */
  const namespaces = (): readonly string[] =>
    (existsSync('/run/netns') ? readdirSync('/run/netns') : []).filter((name) =>
      name.startsWith('cni-'),
    );
  const results = (): readonly string[] =>
    (existsSync('/var/lib/cni/results') ? readdirSync('/var/lib/cni/results') : []).filter((name) =>
      name.startsWith(bridge()),
    );

  test('after kill -9 of the cluster, containerd and all shims', async () => {
    const before = namespaces();
    cluster = await coxUp(['--runtime', 'containerd'], { dataDir: data() });
    await importBusybox(data());
    rmSync(join(data(), 'busybox.tar'));
    const kubectl = kubectlOf(cluster);
    const manifest = replicaSet('left', 1).replace(
      '          imagePullPolicy',
      '          ports: [{ containerPort: 8080, hostPort: 21790 }]\n          imagePullPolicy',
    );
    await kubectl.run('apply -f -', { input: manifest });
    await ready(kubectl, 'left');
    expect(await nat()).toContain(bridge());
    expect(namespaces().length).toBeGreaterThan(before.length);
    expect(results()).not.toEqual([]);

    await cluster.kill();
    for (const { pid, args } of hostProcesses()) {
      if (args.some((arg) => arg.startsWith(join(data(), 'containerd'))))
        process.kill(pid, 'SIGKILL');
    }
    expect(processes()).not.toEqual([]);
    expect(mounts()).not.toEqual([]);
    const reset = await cox('reset', '--yes');
    expect(reset.stderr.split('\n').filter((line) => line.startsWith('cox:'))).toEqual([]);
    expectNothingLeft();
    expect(await nat()).not.toContain(bridge());
    expect(namespaces().filter((name) => !before.includes(name))).toEqual([]);
    expect(results()).toEqual([]);
    expect(existsSync(`/sys/class/net/${bridge()}`)).toBe(false);
  });
});
