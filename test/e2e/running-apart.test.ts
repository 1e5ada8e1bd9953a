// The commands of docs/running-apart.md and docs/running-apart-addons.md for roles on one machine, as
// they stand there. A network namespace is the machine, so that the ports of the pages are free.

import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findProgram, isRoot } from '#cluster/machine/install.ts';
import { ETCD_HINT, hasEtcd } from '#storage/etcd/testing/etcd-process.ts';
import {
  coxArgs,
  eventually,
  kubectls,
  missingKubectl,
  named,
  run,
  type RunResult,
  temporaryDir,
} from './harness.ts';

const missing =
  missingKubectl ??
  (process.platform !== 'linux' || !isRoot()
    ? 'needs Linux and root'
    : findProgram('ip') === undefined || findProgram('nft') === undefined
      ? 'needs iproute2 and nftables'
      : hasEtcd()
        ? undefined
        : ETCD_HINT);
const pageOf = (name: string): string =>
  readFileSync(new URL(`../../docs/${name}.md`, import.meta.url), 'utf8');
const READY_MS = 120_000;
const ETCD = process.env['ETCD'] ?? 'etcd';

/** Returns the shell blocks of a page, each as its lines. */
function blocks(page: string): readonly (readonly string[])[] {
  return [...page.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, text = '']) =>
    text.split('\n').filter((line) => line !== ''),
  );
}

/** Reports whether a command of the page runs until it is stopped. */
const isServer = (line: string): boolean =>
  /^(?:etcd|cox (?:apiserver|controller-manager|scheduler|kubelet|dns|ingress|csi-driver)) /.test(
    line,
  ) && !line.includes('--print-permissions');

describe.skipIf(missing !== undefined)(
  named('the page about roles that run apart', missing),
  () => {
    const dir = temporaryDir();
    const namespace = `cox-apart-${process.pid}`;
    const inside = ['nsenter', `--net=/run/netns/${namespace}`];
    const env = {
      PATH: `${join(dir.path, 'bin')}:${process.env['PATH'] ?? ''}`,
      KUBECONFIG: join(dir.path, 'admin.conf'),
      HOME: dir.path,
    };
    const servers: { readonly child: ChildProcess; readonly ended: Promise<number | null> }[] = [];

    /** Returns the line with this machine's addresses and paths. */
    const adapted = (line: string): string =>
      line
        .replaceAll('10.0.0.7', '127.0.0.1')
        .replaceAll('KUBELET-ROOT-DIR', join(dir.path, 'kubelet'))
        .replaceAll('$PWD', dir.path)
        .replace(/^etcd /, `${ETCD} `);

    const shell = (text: string): Promise<RunResult> =>
      run('nsenter', [...inside.slice(1), 'sh', '-ec', text], {
        cwd: dir.path,
        env,
        timeoutMs: READY_MS,
      });

    /** Resolves when the server is ready. */
    async function serve(line: string): Promise<void> {
      const child = spawn('nsenter', [...inside.slice(1), 'sh', '-c', `exec ${adapted(line)}`], {
        cwd: dir.path,
        env: { ...process.env, ...env },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
      servers.push({ child, ended });
      let said = '';
      let isReady = false;
      for (const stream of [child.stdout, child.stderr])
        stream.on('data', (chunk: Buffer) => {
          said = (said + chunk.toString('utf8')).slice(-20_000);
          isReady ||= line.startsWith('etcd') ? said !== '' : /^ready: /m.test(said);
        });
      await eventually(
        `${line} is ready`,
        () => {
          if (child.exitCode !== null || child.signalCode !== null)
            throw new Error(`${line} ended:\n${said}`);
          return Promise.resolve(isReady);
        },
        READY_MS,
      );
    }

    /** Runs the commands of a block in their order. Returns what those that end have printed. */
    async function follow(lines: readonly string[]): Promise<string> {
      let printed = '';
      for (const line of lines) {
        // A line that is an example of flags has an ellipsis.
        if (line.includes('…')) continue;
        if (isServer(line)) await serve(line);
        else {
          const { status, stdout, stderr } = await shell(adapted(line));
          expect(status, `${line}: ${stderr}`).toBe(0);
          printed += stdout;
        }
      }
      return printed;
    }

    const [certificates = [], roles = [], workload = []] = blocks(pageOf('running-apart'));
    const [policies = [], dns = [], ingress = [], driver = []] = blocks(
      pageOf('running-apart-addons'),
    );

    beforeAll(async () => {
      await run('mkdir', ['-p', join(dir.path, 'bin')]);
      const cox = join(dir.path, 'bin', 'cox');
      const command = [process.execPath, ...coxArgs].map((word) => `'${word}'`).join(' ');
      writeFileSync(cox, `#!/bin/sh\nexec ${command} "$@"\n`);
      chmodSync(cox, 0o755);
      symlinkSync(kubectls().at(-1)?.path ?? 'kubectl', join(dir.path, 'bin', 'kubectl'));
      const { status, stderr } = await run('ip', ['netns', 'add', namespace]);
      expect(status, stderr).toBe(0);
      expect((await shell('ip link set lo up')).status).toBe(0);
      await follow(certificates);
      await follow(roles);
    });

    afterAll(async () => {
      for (const { child, ended } of servers.reverse()) {
        child.kill('SIGKILL');
        await ended;
      }
      await run('ip', ['netns', 'delete', namespace]);
      dir.remove();
    });

    test('runs a Deployment, and one of each control role leads', async () => {
      const printed = await follow(workload);
      expect(printed).toContain('deployment "hello" successfully rolled out');
      expect(printed).toMatch(/^kube-controller-manager +\S+_\S+/m);
      expect(printed).toMatch(/^kube-scheduler +\S+_\S+/m);
    });

    test('answers names', async () => {
      await follow(dns);
      const ask = `new (require('node:dns').promises.Resolver)()`;
      const script = `const r = ${ask}; r.setServers(['127.0.0.1']);
      r.resolve4('kubernetes.default.svc.cluster.local').then(console.log)`;
      const { stdout, stderr } = await run('nsenter', [
        ...inside.slice(1),
        process.execPath,
        '-e',
        script,
      ]);
      expect(stdout, stderr).toContain('10.96.0.1');
    });

    test('serves Ingresses', async () => {
      await follow(ingress);
      const script = `fetch('http://127.0.0.1/').then(({ status }) => console.log(status))`;
      const { stdout, stderr } = await run('nsenter', [
        ...inside.slice(1),
        process.execPath,
        '-e',
        script,
      ]);
      expect(stdout, stderr).toBe('404\n');
    });

    test('has the identity for network policies, and the driver of volumes', async () => {
      await follow(policies);
      await follow(driver);
      expect((await shell('kubectl get csidrivers -o name')).stdout).toContain('csi.coxswain.dev');
      const role = await shell('kubectl get clusterrole system:coxswain:network-policy -o name');
      expect(role.stderr).toBe('');
    });

    test('the roles end when they are stopped', async () => {
      for (const { child, ended } of servers.splice(0).reverse()) {
        child.kill('SIGTERM');
        // etcd ends by the signal.
        expect([0, null]).toContain(await ended);
      }
    });
  },
);
