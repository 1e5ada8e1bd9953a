import { mkdtemp, realpath, rm, symlink, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { systemClock, VirtualClock } from '#machinery/clock.ts';
import { RpcServer } from '#machinery/grpc/server.ts';
import { recordingLogger } from '#machinery/log.ts';
import { pluginDirectory, type PluginSocket } from './plugin-directory.ts';
import { PluginManager, type PluginHandler } from './plugin-manager.ts';
import { type Plugin, registrationAt } from './registration-client.ts';
import { registrationSchema } from '#csi/registration-schema.ts';

const stops: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).toReversed()) await stop();
});

/** A handler that records what happens. */
function recordingHandler(log: string[], refuse?: string): PluginHandler {
  return {
    validate: ({ versions }) => {
      if (!versions.includes('1.0.0')) throw new Error('no supported version');
    },
    register: ({ name }) => {
      log.push(`register ${name}`);
      return refuse === undefined ? Promise.resolve() : Promise.reject(new Error(refuse));
    },
    deregister: ({ name }) => {
      log.push(`deregister ${name}`);
      return Promise.resolve();
    },
  };
}

async function settled(error: Error | undefined): Promise<void> {
  if (error !== undefined) throw error;
}

interface FakePlugin {
  readonly info: Plugin | Error;
  readonly notify?: Error;
}

/** A manager on a fake directory and fake plugins, on a virtual clock. */
function fakeManager(refuse?: string) {
  const clock = new VirtualClock();
  const log: string[] = [];
  const notified: string[] = [];
  const sockets = new Map<string, PluginSocket & { readonly plugin: FakePlugin }>();
  let changed = (): void => undefined;
  const logger = recordingLogger();
  const manager = new PluginManager({
    clock,
    logger,
    handlers: { CSIPlugin: recordingHandler(log, refuse) },
    directory: {
      scan: () => Promise.resolve([...sockets.values()]),
      watch: (onChange) => {
        changed = onChange;
      },
    },
    open: (path) => {
      const { plugin } = sockets.get(path)!;
      log.push(`open ${path}`);
      return {
        info: () =>
          plugin.info instanceof Error ? Promise.reject(plugin.info) : Promise.resolve(plugin.info),
        notify: (error) => {
          notified.push(error);
          return settled(plugin.notify);
        },
        close: () => undefined,
      };
    },
  });
  const abort = new AbortController();
  const running = manager.run(abort.signal);
  stops.push(async () => {
    abort.abort();
    await running;
  });
  return {
    clock,
    log,
    notified,
    records: logger.records,
    manager,
    put: (path: string, identity: string, plugin: FakePlugin) => {
      sockets.set(path, { path, identity, plugin });
      changed();
    },
    remove: (path: string) => {
      sockets.delete(path);
      changed();
    },
  };
}

const good = (name: string): Plugin => ({
  type: 'CSIPlugin',
  name,
  endpoint: `/${name}.sock`,
  versions: ['1.0.0'],
});

describe('PluginManager', () => {
  test('registers a plugin when its socket appears, and withdraws it with the socket', async () => {
    const { clock, log, notified, manager, put, remove } = fakeManager();
    put('/a', '1', { info: good('a') });
    await clock.advance('1s');
    expect(log).toEqual(['open /a', 'register a']);
    expect(notified).toEqual(['']);
    expect(manager.plugins.map(({ name }) => name)).toEqual(['a']);
    await clock.advance('1m');
    expect(log).toHaveLength(2);
    remove('/a');
    await clock.advance('1s');
    expect(log.slice(2)).toEqual(['deregister a']);
    expect(manager.plugins).toEqual([]);
  });

  test('another socket at the same path is another plugin', async () => {
    const { clock, log, put } = fakeManager();
    put('/a', '1', { info: good('old') });
    await clock.advance('1s');
    put('/a', '2', { info: good('new') });
    await clock.advance('1s');
    expect(log).toEqual(['open /a', 'register old', 'deregister old', 'open /a', 'register new']);
  });

  test.each([
    [
      { ...good('a'), type: 'Other' },
      'RegisterPlugin error -- no handler registered for plugin type: Other at socket /a',
    ],
    [
      { ...good('a'), type: 'constructor' },
      'RegisterPlugin error -- no handler registered for plugin type: constructor at socket /a',
    ],
    [
      { ...good('a'), versions: [] },
      'RegisterPlugin error -- plugin validation failed with err: no supported version',
    ],
  ])('a plugin that cannot be registered is notified: %j', async (info, message) => {
    const { clock, notified, manager, put } = fakeManager();
    put('/a', '1', { info });
    await clock.advance('100ms');
    expect(notified).toEqual([message]);
    expect(manager.plugins).toEqual([]);
  });

  test('a failed registration is retried with back-off, and delays no other plugin', async () => {
    const { clock, log, notified, put } = fakeManager();
    put('/bad', '1', { info: new Error('connection refused') });
    put('/good', '1', { info: good('good') });
    await clock.advance('100ms');
    expect(log).toContain('register good');
    await clock.advance('10m');
    // Half a second, doubled up to about two minutes.
    const attempts = log.filter((line) => line === 'open /bad').length;
    expect(attempts).toBeGreaterThanOrEqual(9);
    expect(attempts).toBeLessThanOrEqual(14);
    expect(notified).toEqual(['']);
  });

  test('a handler that refuses: the plugin is notified', async () => {
    const { clock, notified, manager, put } = fakeManager('node id is empty');
    put('/a', '1', { info: good('a') });
    await clock.advance('100ms');
    expect(notified).toEqual([
      'RegisterPlugin error -- plugin registration failed with err: node id is empty',
    ]);
    expect(manager.plugins).toEqual([]);
  });

  test('a plugin that crashes before it is notified is deregistered', async () => {
    const { clock, log, manager, put } = fakeManager();
    put('/a', '1', { info: good('a'), notify: new Error('gone') });
    await clock.advance('100ms');
    expect(log).toEqual(['open /a', 'register a', 'deregister a']);
    expect(manager.plugins).toEqual([]);
  });
});

describe('with real sockets', () => {
  const serve = async (path: string, name: string, statuses: unknown[]): Promise<void> => {
    const server = new RpcServer(registrationSchema);
    server.addService('Registration', {
      GetInfo: () => ({ type: 'CSIPlugin', name, endpoint: '', supportedVersions: ['1.0.0'] }),
      NotifyRegistrationStatus: (status) => {
        statuses.push(status);
        return {};
      },
    });
    await server.listen(path);
    stops.push(() => server.close());
  };

  test('plugins in subdirectories are found, hidden sockets and files are not', async () => {
    const root = await realpath(await mkdtemp(join(tmpdir(), 'plugins-')));
    stops.push(() => rm(root, { recursive: true, force: true }));
    const log: string[] = [];
    const statuses: unknown[] = [];
    const logger = recordingLogger();
    const manager = new PluginManager({
      clock: systemClock,
      logger,
      handlers: { CSIPlugin: recordingHandler(log) },
      directory: pluginDirectory(join(root, 'registry'), logger),
      open: (path) => registrationAt(path, systemClock),
    });
    const abort = new AbortController();
    const running = manager.run(abort.signal);
    stops.push(async () => {
      abort.abort();
      await running;
    });
    await serve(join(root, 'registry', 'a-reg.sock'), 'a', statuses);
    await serve(join(root, 'registry', 'sub', 'b-reg.sock'), 'b', statuses);
    await serve(join(root, 'registry', '.hidden.sock'), 'hidden', statuses);
    await vi.waitFor(() => expect(log.toSorted()).toEqual(['register a', 'register b']), {
      timeout: 60_000,
    });
    await vi.waitFor(() => expect(statuses).toHaveLength(2), { timeout: 60_000 });
    expect(statuses).toContainEqual({ pluginRegistered: true, error: '' });
    await unlink(join(root, 'registry', 'a-reg.sock'));
    await vi.waitFor(() => expect(log).toContain('deregister a'), { timeout: 60_000 });
    expect(manager.plugins).toEqual([
      {
        type: 'CSIPlugin',
        name: 'b',
        endpoint: join(root, 'registry', 'sub', 'b-reg.sock'),
        versions: ['1.0.0'],
      },
    ]);
  });
});

test('a link to itself, or through a file, hides no plugin', async () => {
  const root = await realpath(await mkdtemp(join(tmpdir(), 'plugins-')));
  stops.push(() => rm(root, { recursive: true, force: true }));
  await symlink('loop', join(root, 'loop'));
  await writeFile(join(root, 'file'), '');
  await symlink('file/below', join(root, 'through'));
  const server = new RpcServer(registrationSchema);
  await server.listen(join(root, 'z.sock'));
  stops.push(() => server.close());
  const found = await pluginDirectory(root, recordingLogger()).scan();
  expect(found.map(({ path }) => path)).toEqual([join(root, 'z.sock')]);
});
