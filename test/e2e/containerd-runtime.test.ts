// The containerd runtime against a real, private containerd: the CRI conformance suite, and the
// guarantees of the launcher.

import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { criConformance } from '#cri/conformance.ts';
import type { Runtime } from '#cri/index.ts';
import { systemClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import * as wait from '#machinery/wait.ts';
import {
  bridgeName,
  bridgeNetwork,
  findCniPlugins,
  removeBridgeNetwork,
  writeCniConfig,
} from '#network/index.ts';
import {
  createContainerdRuntime,
  launchContainerd,
  type LaunchedContainerd,
  missingContainerdTools,
} from '#runtime/containerd/index.ts';
import { mountsBelow } from '#runtime/containerd/host.ts';
import { identify } from '#runtime/process-identity.ts';
import {
  busyboxHint,
  busyboxImage,
  findBusybox,
  writeBusyboxArchive,
} from '../fixtures/images/build.ts';

const plugins = findCniPlugins();
const missing =
  missingContainerdTools(plugins)?.hint ?? (findBusybox() === undefined ? busyboxHint : undefined);

interface Host {
  readonly dir: string;
  readonly bridge: string;
  launch(): Promise<LaunchedContainerd>;
  dispose(): Promise<void>;
}

async function makeHost(podCidr: string): Promise<Host> {
  const dir = await mkdtemp(join(tmpdir(), 'coxswain-containerd-'));
  const bridge = bridgeName(dir);
  const cniConfDir = join(dir, 'cni');
  await writeCniConfig(cniConfDir, bridgeNetwork({ podCidr, bridge, dataDir: cniConfDir }));
  return {
    dir,
    bridge,
    launch: () =>
      launchContainerd({
        dir: join(dir, 'containerd'),
        cniConfDir,
        cniBinDir: plugins!,
        logger: silentLogger,
      }),
    async dispose() {
      await removeBridgeNetwork({ bridge, dataDir: cniConfDir });
      await rm(dir, { recursive: true, force: true });
    },
  };
}

const waitFor = (condition: wait.Condition): Promise<void> =>
  wait.pollImmediately({ clock: systemClock, intervalMs: 20, timeoutMs: 60_000 }, condition);

if (missing !== undefined) {
  test.skip(`containerd: CRI conformance (${missing})`, () => undefined);
} else {
  criConformance(
    'containerd',
    async () => {
      const host = await makeHost('10.201.7.0/24');
      let containerd = await host.launch();
      const archive = join(host.dir, 'busybox.tar');
      writeBusyboxArchive(archive, [busyboxImage, 'docker.io/library/removable:latest']);
      await containerd.importImages(archive);
      let runtime: Runtime = createContainerdRuntime({ endpoint: containerd.endpoint });
      await waitFor(
        async () => (await runtime.images.imageStatus({ image: 'busybox' })).image !== undefined,
      );
      return {
        runtime,
        image: 'busybox',
        sandbox: { linux: { securityContext: { namespaceOptions: { pid: 'CONTAINER' } } } },
        waitFor,
        async restart() {
          await runtime.close();
          await containerd.stop();
          containerd = await host.launch();
          runtime = createContainerdRuntime({ endpoint: containerd.endpoint });
          return runtime;
        },
        async dispose() {
          await runtime.close();
          await containerd.destroy();
          await host.dispose();
        },
      };
    },
    {
      podNetwork: true,
      realProcesses: true,
      stdin: true,
      tty: true,
      attach: true,
      mounts: true,
      users: true,
      portForward: true,
      stats: true,
      updateResources: true,
      events: true,
      restart: true,
      pull: 'there is no registry',
      removeImage: 'there is no registry to get it back from',
    },
  );
}

describe.skipIf(missing !== undefined)(
  `a private containerd${missing === undefined ? '' : ` (${missing})`}`,
  () => {
    test('is adopted after a crash of its owner, and leaves no process or file in the end', async () => {
      const host = await makeHost('10.201.8.0/24');
      const first = await host.launch();
      expect(first.reused).toBe(false);
      // The second launch stands for a restart after a crash of this process: the first containerd
      // was not stopped.
      const second = await host.launch();
      expect(second).toMatchObject({ reused: true, pid: first.pid, endpoint: first.endpoint });

      const runtime = createContainerdRuntime({ endpoint: second.endpoint });
      const pod = await runtime.runtime.runPodSandbox({
        metadata: { name: 'p', namespace: 'n', uid: 'u' },
      });
      await runtime.close();
      expect(existsSync(`/sys/class/net/${host.bridge}`)).toBe(true);
      expect(mountsBelow(host.dir).length).toBeGreaterThan(0);

      await second.stop();
      // The process may still exist as a zombie: it is a child of this process, which reaps it a
      // turn later.
      expect(identify(second.pid)).toBeUndefined();
      const third = await host.launch();
      expect(third.reused).toBe(false);
      const again = createContainerdRuntime({ endpoint: third.endpoint });
      expect((await again.runtime.podSandboxStatus(pod)).status?.state).toBe('SANDBOX_READY');
      await again.close();

      await third.destroy();
      await host.dispose();
      expect(mountsBelow(host.dir)).toEqual([]);
      expect(existsSync(host.dir)).toBe(false);
      expect(existsSync(`/sys/class/net/${host.bridge}`)).toBe(false);
    });

    test('reports why it does not start', async () => {
      const dir = await mkdtemp(join(tmpdir(), 'coxswain-containerd-'));
      const cniConfDir = join(dir, 'broken-network');
      await mkdir(cniConfDir);
      await writeFile(join(cniConfDir, '10-pods.conflist'), '{"cniVersion": "1.0.0"}');
      const failed = launchContainerd({
        dir: join(dir, 'containerd'),
        cniConfDir,
        cniBinDir: plugins!,
        logger: silentLogger,
        readyTimeoutMs: 3000,
      });
      await expect(failed).rejects.toMatchObject({
        reason: 'Unavailable',
        message: expect.stringMatching(/NetworkReady is false/) as string,
      });
      await rm(dir, { recursive: true, force: true });
    });
  },
);
