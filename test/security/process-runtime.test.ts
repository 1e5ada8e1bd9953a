// Containers of the process runtime against the runtime itself: their environment, mounts, output
// and records. The runtime does not protect the host, but its own privileged steps are safe from
// containers, and no container ends the runtime.

import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ContainerConfig, ContainerStatus, PodSandboxConfig, Runtime } from '#cri/index.ts';
import { systemClock } from '#machinery/clock.ts';
import { recordingLogger, type RecordingLogger } from '#machinery/log.ts';
import * as wait from '#machinery/wait.ts';
import { hasPty } from '#runtime/process/pty.ts';
import { createProcessRuntime } from '#runtime/process/create.ts';

const isRoot = process.getuid?.() === 0;
const waitFor = (condition: wait.Condition): Promise<void> =>
  wait.pollImmediately({ clock: systemClock, intervalMs: 10, timeoutMs: 30_000 }, condition);

let dir: string;
let runtime: Runtime;
let logger: RecordingLogger;
let uid = 0;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'hostile-'));
  chmodSync(dir, 0o755);
  logger = recordingLogger();
  runtime = makeRuntime();
});
afterEach(async () => {
  for (const { id } of await runtime.runtime.listPodSandbox())
    await runtime.runtime.removePodSandbox(id);
  await runtime.close();
  rmSync(dir, { recursive: true, force: true });
});

const makeRuntime = (): Runtime => createProcessRuntime({ stateDir: join(dir, 'state'), logger });
async function create(config: ContainerConfig, logDirectory = join(dir, 'logs')): Promise<string> {
  const pod: PodSandboxConfig = {
    metadata: { name: 'p', namespace: 'n', uid: `u${++uid}` },
    logDirectory,
  };
  const sandbox = await runtime.runtime.runPodSandbox(pod);
  return runtime.runtime.createContainer(
    sandbox,
    { metadata: { name: 'c' }, image: { image: 'app' }, logPath: 'c.log', ...config },
    pod,
  );
}
async function start(config: ContainerConfig, logDirectory?: string): Promise<string> {
  const id = await create(config, logDirectory);
  await runtime.runtime.startContainer(id);
  return id;
}
const sh = (script: string): Pick<ContainerConfig, 'command'> => ({
  command: ['/bin/sh', '-c', script],
});
const status = async (id: string): Promise<ContainerStatus> =>
  (await runtime.runtime.containerStatus(id)).status!;
async function exited(id: string): Promise<ContainerStatus> {
  await waitFor(async () => (await status(id)).state === 'CONTAINER_EXITED');
  return status(id);
}
const rootOf = (id: string): string => join(dir, 'state/containers', id, 'root');
const logged = (): string => JSON.stringify(logger.records);
const env = (
  variables: Readonly<Record<string, string>>,
): Required<Pick<ContainerConfig, 'envs'>> => ({
  envs: Object.entries(variables).map(([key, value]) => ({ key, value: Buffer.from(value) })),
});

describe('the environment of a container', () => {
  test.skipIf(!isRoot)(
    "does not influence programs that run before the switch to the container's user (needs root)",
    async () => {
      const evil = join(dir, 'evil');
      const proof = join(dir, 'proof');
      mkdirSync(evil);
      writeFileSync(proof, '', { mode: 0o666 });
      chmodSync(proof, 0o666);
      const code =
        `#!/bin/sh\nPATH=/usr/bin:/bin; id -u >> ${proof}; echo "$0" >> ${proof}.names\nexec ` +
        '"$(basename "$0")" "$@"\n';
      const names = [
        'setpriv',
        'mv',
        'env',
        'sh',
        'printf',
        'kill',
        'script',
        'tty',
        'stty',
        'mkfifo',
        'cat',
        'echo',
        'exec',
        'test',
      ];
      for (const name of names) writeFileSync(join(evil, name), code, { mode: 0o755 });
      writeFileSync(join(evil, 'rc'), `PATH=/usr/bin:/bin id -u >> ${proof}\n`, { mode: 0o644 });
      const library = buildLibrary(evil, proof);
      const variables = {
        PATH: evil,
        SHELL: join(evil, 'sh'),
        ENV: join(evil, 'rc'),
        BASH_ENV: join(evil, 'rc'),
        ...(library !== undefined && { LD_PRELOAD: library }),
        LD_LIBRARY_PATH: evil,
        SHELLOPTS: 'xtrace',
        PS4: `$(${evil}/echo)`,
        IFS: '/',
      };
      const user = {
        linux: { securityContext: { runAsUser: { value: 1000 }, runAsGroup: { value: 1000 } } },
      };
      const id = await start({
        ...sh('/bin/echo started; exec /bin/sleep 3600'),
        ...env(variables),
        ...user,
      });
      const log = join(dir, 'logs/c.log');
      await waitFor(() => existsSync(log) && readFileSync(log, 'utf8').includes('started'));
      const { exitCode } = await runtime.runtime.execSync(id, ['/bin/sh', '-c', 'exit 7']);
      expect(exitCode).toBe(7);
      if (hasPty()) {
        const stdout = new PassThrough();
        stdout.resume();
        await runtime.runtime.exec(
          id,
          { command: ['/bin/true'], tty: true, stdout: true },
          { stdout },
        );
      }
      await runtime.runtime.stopContainer(id, 0);
      // Everything that ran in the container ran as the container's user.
      expect(readFileSync(proof, 'utf8').split('\n')).not.toContain('0');
    },
  );

  test('reaches the program unchanged, and no other process', async () => {
    const variables = {
      PLAIN: 'a',
      QUOTED: `it's "so" \\ $HOME \`id\` $(id)`,
      LINES: 'one\ntwo\n',
      EMPTY: '',
      'dotted.name-x': 'dots',
      '-dashed': 'dash',
      UID: '7',
      PPID: '8',
      OPTIND: 'not a number',
      UNICODE: 'grüße 🚢',
    };
    const id = await create({ command: ['/usr/bin/env', '-0'], ...env(variables) });
    await runtime.runtime.startContainer(id);
    expect((await exited(id)).exitCode).toBe(0);
    const words = readFileSync(join(dir, 'logs/c.log'), 'utf8')
      .replace(/^\S+ stdout [FP] /gm, '')
      .split('\0');
    for (const [name, value] of Object.entries(variables))
      expect(words).toContain(`${name}=${value}`);
    const names = words
      .map((word) => word.split('=')[0])
      .filter((name) => name !== '' && name !== '\n');
    expect(names.toSorted()).toEqual(
      [
        ...Object.keys(variables),
        'COXSWAIN_CONTAINER_ID',
        'COXSWAIN_ROOT',
        'HOME',
        'HOSTNAME',
        'PATH',
      ].toSorted(),
    );
  });

  test('is in no arguments of a lasting process', async () => {
    const id = await start({
      ...sh('echo started; exec sleep 3600'),
      ...env({ SECRET: 'do-not-show' }),
    });
    await waitFor(() => readFileSync(join(dir, 'logs/c.log'), 'utf8').includes('started'));
    const shown = readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .filter((pid) => {
        try {
          return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('do-not-show');
        } catch {
          return false;
        }
      });
    expect(shown).toEqual([]);
    expect(lstatSync(join(dir, 'state/containers', id, 'env')).mode & 0o777).toBe(0o400);
  });

  test('a program whose path has an equals sign is run, and not taken for a variable', async () => {
    mkdirSync(join(dir, 'a=b'));
    writeFileSync(join(dir, 'a=b/run'), '#!/bin/sh\nexit 9\n', { mode: 0o755 });
    expect((await exited(await start({ command: [join(dir, 'a=b/run')] }))).exitCode).toBe(9);
  });
});

/**
 * Builds a library that records the user of each process that loads it. Returns undefined without a
 * compiler.
 */
function buildLibrary(where: string, proof: string): string | undefined {
  const source = join(where, 'preload.c');
  const library = join(where, 'preload.so');
  writeFileSync(
    source,
    '#include <stdio.h>\n#include <unistd.h>\n__attribute__((constructor)) static void ' +
      `note(void) {\n  FILE *file = fopen("${proof}", "a");\n  if (file) { fprintf(file, ` +
      '"%d\\n", (int)getuid()); fclose(file); }\n}\n',
  );
  try {
    execFileSync('cc', ['-shared', '-fPIC', '-o', library, source], { stdio: 'ignore' });
    return library;
  } catch {
    return undefined;
  }
}

describe('the mounts of a container', () => {
  test('stay below its root, whatever their path says', async () => {
    const volume = join(dir, 'volume');
    mkdirSync(volume);
    writeFileSync(join(volume, 'file'), 'x');
    for (const containerPath of [
      '/../../../../evil/link',
      'a/../../../b',
      '/./c//d/',
      '/e/../../f',
    ]) {
      const id = await create({ ...sh('true'), mounts: [{ containerPath, hostPath: volume }] });
      const found = execFileSync('find', [rootOf(id), '-type', 'l'], { encoding: 'utf8' })
        .trim()
        .split('\n');
      expect(found).toHaveLength(1);
      expect(readFileSync(join(found[0]!, 'file'), 'utf8')).toBe('x');
    }
    expect(existsSync(join(dir, 'evil'))).toBe(false);
    expect(readdirSync(dir).toSorted()).toEqual(['state', 'volume']);
    await expect(
      create({ ...sh('true'), mounts: [{ containerPath: '/..', hostPath: volume }] }),
    ).rejects.toMatchObject({
      reason: 'InvalidArgument',
      message: 'the process runtime cannot mount a volume at /',
    });
  });

  test('are created inside others, in any order', async () => {
    mkdirSync(join(dir, 'outer'));
    mkdirSync(join(dir, 'inner'));
    writeFileSync(join(dir, 'inner/file'), 'inner');
    const mounts = [
      { containerPath: '/data/in/side', hostPath: join(dir, 'inner') },
      { containerPath: '/data', hostPath: join(dir, 'outer') },
    ];
    for (const round of [1, 2]) {
      const id = await create({ ...sh('true'), mounts });
      expect(readFileSync(join(rootOf(id), 'data/in/side/file'), 'utf8'), `round ${round}`).toBe(
        'inner',
      );
    }
  });

  test('do not follow links that a container has made in a volume', async () => {
    mkdirSync(join(dir, 'volume'));
    mkdirSync(join(dir, 'outside'));
    symlinkSync(join(dir, 'outside'), join(dir, 'volume/link'));
    const mounts = [
      { containerPath: '/data', hostPath: join(dir, 'volume') },
      { containerPath: '/data/link/made/x', hostPath: join(dir, 'volume') },
    ];
    await expect(create({ ...sh('true'), mounts })).rejects.toMatchObject({
      reason: 'InvalidArgument',
    });
    expect(readdirSync(join(dir, 'outside'))).toEqual([]);
  });

  test('that are hidden by a file are logged', async () => {
    mkdirSync(join(dir, 'volume'));
    writeFileSync(join(dir, 'volume/hosts'), 'own');
    const mounts = [
      { containerPath: '/etc', hostPath: join(dir, 'volume') },
      { containerPath: '/etc/hosts', hostPath: '/etc/hosts' },
    ];
    const id = await create({ ...sh('true'), mounts });
    expect(readFileSync(join(rootOf(id), 'etc/hosts'), 'utf8')).toBe('own');
    expect(logged()).toContain('container mounts are hidden by existing files');
  });
});

test('arguments without a command are the command, as with an image that has no entry point', async () => {
  expect((await exited(await start({ args: ['/bin/sh', '-c', 'exit 5'] }))).exitCode).toBe(5);
});

describe('the output of a container', () => {
  test.skipIf(!isRoot)(
    'is dropped while the disk is full, and continues after that (needs root)',
    async () => {
      const disk = join(dir, 'disk');
      mkdirSync(disk);
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', disk]);
      try {
        // 1,500 entries are 75 KB: more than the disk has, but what is dropped would fit again.
        const script =
          'i=0; while [ $i -lt 1500 ]; do echo 0123456789; i=$((i+1)); done; while :; do ' +
          'echo 0123456789; sleep 0.05; done';
        const id = await start(sh(script), disk);
        await waitFor(() => logged().includes('container log not written, output is dropped'));
        expect((await status(id)).state).toBe('CONTAINER_RUNNING');
        // The kubelet's rotation removes old files, too.
        const log = join(disk, 'c.log');
        expect(64 * 1024 - statSync(log).size, 'as many entries as fit are kept').toBeLessThan(64);
        rmSync(log);
        await runtime.runtime.reopenContainerLog(id);
        await waitFor(() => readFileSync(log, 'utf8').includes('0123456789'));
        expect(logged()).toContain('container log is written again');
        // No entry was cut and joined with the next.
        await runtime.runtime.stopContainer(id, 0);
        const lines = readFileSync(log, 'utf8')
          .split('\n')
          .filter((line) => line.includes(' stdout '));
        for (const line of lines) expect(line).toMatch(/^\S+ stdout [FP] \d{10}$/);
        expect(
          logger.records.filter(({ message }) => message.startsWith('container log not written')),
        ).toHaveLength(1);
      } finally {
        execFileSync('umount', ['-l', disk]);
      }
    },
  );

  test.each(['fifo', 'directory', 'link', 'device'])(
    'is dropped if a %s is at its place',
    async (kind) => {
      mkdirSync(join(dir, 'logs'));
      const log = join(dir, 'logs/c.log');
      if (kind === 'fifo') execFileSync('mkfifo', [log]);
      else if (kind === 'directory') mkdirSync(log);
      else if (kind === 'link') symlinkSync(join(dir, 'elsewhere'), log);
      else symlinkSync('/dev/full', log);
      const id = await start(sh('echo hello; exit 3'));
      expect((await exited(id)).exitCode).toBe(3);
      expect(existsSync(join(dir, 'elsewhere'))).toBe(false);
      expect(logged()).toContain('container log not written, output is dropped');
    },
  );
});

describe('a record that is damaged', () => {
  const damage: Readonly<Record<string, (path: string) => void>> = {
    empty: (path) => writeFileSync(path, ''),
    cut: (path) => writeFileSync(path, readFileSync(path).subarray(0, 40)),
    garbage: (path) => writeFileSync(path, Buffer.from([0xff, 0xfe, 0, 1])),
    null: (path) => writeFileSync(path, 'null'),
    'another object': (path) => writeFileSync(path, '{"record":{"id":"x"}}'),
    'a FIFO': (path) => (rmSync(path), execFileSync('mkfifo', [path])),
    'a directory': (path) => (rmSync(path), mkdirSync(path)),
    'an endless file': (path) => (rmSync(path), symlinkSync('/dev/zero', path)),
  };

  test('of a container is set aside, and the container is ended', async () => {
    const kept = await start(sh('echo kept; exec sleep 3600'));
    const lost = new Map<string, string>();
    for (const kind of Object.keys(damage))
      lost.set(kind, await start(sh('echo $$; exec sleep 3600'), join(dir, kind)));
    const pidOf = (kind: string): string =>
      /F (\d+)/.exec(readFileSync(join(dir, kind, 'c.log'), 'utf8'))?.[1] ?? '';
    await waitFor(() => [...lost.keys()].every((kind) => pidOf(kind) !== ''));
    await runtime.close();
    for (const [kind, id] of lost) damage[kind]!(join(dir, 'state/containers', id, 'record.json'));
    runtime = makeRuntime();
    expect((await runtime.runtime.listContainers()).map(({ id }) => id)).toEqual([kept]);
    expect((await status(kept)).state).toBe('CONTAINER_RUNNING');
    expect(readdirSync(join(dir, 'state/damaged')).toSorted()).toEqual(
      [...lost.values()].map((id) => `${id}.json`).toSorted(),
    );
    expect(logged()).toContain('damaged record set aside');
    // A running process without a record could not be stopped any more.
    await waitFor(() => [...lost.keys()].every((kind) => !existsSync(`/proc/${pidOf(kind)}`)));
    await runtime.close();
    runtime = makeRuntime();
    expect((await runtime.runtime.listContainers()).map(({ id }) => id)).toEqual([kept]);
  });

  test('of a sandbox is set aside with its containers', async () => {
    const lost = new Map<string, string>();
    for (const kind of Object.keys(damage)) {
      const id = await start(sh('exec sleep 3600'));
      lost.set(kind, (await runtime.runtime.listContainers({ id }))[0]!.podSandboxId);
    }
    await runtime.close();
    for (const [kind, id] of lost) damage[kind]!(join(dir, 'state/sandboxes', `${id}.json`));
    runtime = makeRuntime();
    expect(await runtime.runtime.listPodSandbox()).toEqual([]);
    expect(await runtime.runtime.listContainers()).toEqual([]);
    expect(readdirSync(join(dir, 'state/damaged')).toSorted()).toEqual(
      [...lost.values()].map((id) => `${id}.json`).toSorted(),
    );
  });

  test('a FIFO, device or directory in place of another file of a container blocks no call', async () => {
    const replace: Readonly<Record<string, (path: string) => void>> = {
      fifo: (path) => execFileSync('mkfifo', [path]),
      device: (path) => symlinkSync('/dev/zero', path),
      directory: (path) => mkdirSync(path),
    };
    const replaced: [string, string, string][] = [];
    for (const name of ['pids', 'exit', 'stdout', 'stderr']) {
      for (const kind of Object.keys(replace))
        replaced.push([await start(sh('exec sleep 3600')), name, kind]);
    }
    const pathOf = (id: string, name: string): string => join(dir, 'state/containers', id, name);
    await waitFor(() => replaced.every(([id]) => existsSync(pathOf(id, 'pids'))));
    await runtime.close();
    for (const [id, name, kind] of replaced) {
      rmSync(pathOf(id, name), { recursive: true, force: true });
      replace[kind]!(pathOf(id, name));
    }
    runtime = makeRuntime();
    await Promise.all(replaced.map(([id]) => runtime.runtime.stopContainer(id, 0)));
    for (const [id, name, kind] of replaced)
      expect((await status(id)).state, `${kind} ${name}`).toBe('CONTAINER_EXITED');
  });
});

test('an exec ends at its deadline although the command has left its process group', async () => {
  const id = await start(sh('exec sleep 3600'));
  // A shell with job control puts its background job into a group of its own, and waits for it.
  const leaves = ['/bin/sh', '-c', 'set -m; sleep 3600 & wait'];
  await expect(runtime.runtime.execSync(id, leaves, { timeoutMs: 500 })).rejects.toMatchObject({
    reason: 'DeadlineExceeded',
  });
});
