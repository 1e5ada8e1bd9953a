// The reference CSI driver under csi-sanity, the test suite of CSI drivers
// (github.com/kubernetes-csi/csi-test), with directories, images and devices.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { findProgram, isRoot } from '#cluster/machine/install.ts';
import { CsiDriver, systemHost } from '#csi-driver/index.ts';
import { systemClock } from '#machinery/clock.ts';
import { recordingLogger } from '#machinery/log.ts';
import { named, run, temporaryDir } from './harness.ts';

const program = findProgram('csi-sanity');
const missing =
  program === undefined
    ? 'csi-sanity is not installed (go install github.com/kubernetes-csi/csi-test/v5/cmd/csi-sanity@v5.4.0)'
    : process.platform !== 'linux' || !isRoot()
      ? 'mounting takes root on Linux'
      : undefined;

const SIZES = ['-csi.testvolumesize', '67108864', '-csi.testvolumeexpandsize', '134217728'];

describe.skipIf(missing !== undefined)(named('csi-sanity', missing), () => {
  let dir: ReturnType<typeof temporaryDir>;
  let driver: CsiDriver;
  beforeEach(async () => {
    dir = temporaryDir();
    driver = await CsiDriver.start(
      {
        name: 'csi.coxswain.dev',
        version: 'v1',
        nodeName: 'node',
        directory: join(dir.path, 'state'),
        maxVolumes: 8,
        host: systemHost,
        clock: systemClock,
        logger: recordingLogger(),
      },
      { endpoint: join(dir.path, 'csi.sock') },
    );
  });
  afterEach(() => {
    driver.stop();
    dir.remove();
  });

  test.each([
    ['directories', []],
    ['images', SIZES],
    ['devices', [...SIZES, '-csi.testvolumeaccesstype', 'block']],
  ])(
    'passes with %s',
    async (kind, args) => {
      const parameters = join(dir.path, 'parameters.yaml');
      writeFileSync(parameters, `backing: ${kind === 'directories' ? 'directory' : 'image'}\n`);
      const { stdout } = await run(program ?? '', [
        '-csi.endpoint',
        join(dir.path, 'csi.sock'),
        '-csi.mountdir',
        join(dir.path, 'mount'),
        '-csi.stagingdir',
        join(dir.path, 'staging'),
        '-csi.testvolumeparameters',
        parameters,
        '-csi.testnodevolumeattachlimit',
        '-ginkgo.no-color',
        ...args,
      ]);
      const [, passed, failed] = /(\d+) Passed \| (\d+) Failed/.exec(stdout) ?? [];
      expect([Number(passed), Number(failed)]).toEqual([91, 0]);
    },
    300_000,
  );
});
