// Makes the images of CSI drivers: their published sidecars are not to be had as Go modules, so the
// product's own controllers are in their place, and upstream's mock driver in that of the driver.

import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { goBuild } from '../binaries.ts';
import {
  baseLayer,
  copyProgram,
  type Descriptor,
  type Image,
  writeArchive,
  writeLayer,
} from '../oci-layout.ts';

const REGISTRY = 'registry.k8s.io/sig-storage';
const DRIVER = fileURLToPath(new URL('./driver/', import.meta.url));

const sidecar = (name: string, version: string): Image => ({
  names: [`${REGISTRY}/${name}:${version}`],
  layers: ['base', 'node', 'sidecar'],
  entrypoint: ['/usr/local/bin/node', '/sidecar.mjs', name],
  cmd: [],
});

const IMAGES: readonly Image[] = [
  sidecar('csi-provisioner', 'v6.1.1'),
  sidecar('csi-attacher', 'v4.11.0'),
  sidecar('csi-resizer', 'v2.1.0'),
  sidecar('csi-node-driver-registrar', 'v2.16.0'),
  {
    names: [`${REGISTRY}/hostpathplugin:v1.17.1`],
    layers: ['base', 'driver'],
    entrypoint: ['/hostpathplugin'],
    cmd: [],
  },
];

/**
 * Returns the archive of the images. It is made anew when a source of them has changed. `programs`:
 * an archive of this folder whose first layer is the base of these images, too.
 */
export async function ensureCsiImages(
  dir: string,
  programs: string,
  progress: (text: string) => void,
): Promise<string> {
  const bundle = await bundledSidecar();
  const hash = createHash('sha256')
    .update(JSON.stringify([basename(programs), IMAGES, process.version]))
    .update(bundle)
    .update(readFileSync(join(DRIVER, 'main.go')))
    .digest('hex')
    .slice(0, 12);
  const output = join(dir, `csi-${hash}.tar`);
  if (existsSync(output)) return output;
  progress('making the images of CSI drivers; this takes a minute');
  const layout = mkdtempSync(join(dir, 'csi-layout-'));
  try {
    const blobs = join(layout, 'blobs', 'sha256');
    mkdirSync(blobs, { recursive: true });
    const layer = (fill: (to: string) => void): Promise<Descriptor> =>
      writeLayer(blobs, layout, fill);
    const layers = new Map<string, Descriptor>([
      ['base', baseLayer(programs, layout)],
      ['node', await layer((to) => copyProgram(process.execPath, join(to, 'usr/local/bin/node')))],
      ['sidecar', await layer((to) => writeFileSync(join(to, 'sidecar.mjs'), bundle))],
      ['driver', await layer((to) => goBuild(DRIVER, join(to, 'hostpathplugin')))],
    ]);
    writeArchive(layout, IMAGES, layers, output);
  } finally {
    rmSync(layout, { recursive: true, force: true });
  }
  return output;
}

async function bundledSidecar(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL('./sidecar.ts', import.meta.url))],
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    mainFields: ['module', 'main'],
    // CommonJS dependencies inside of an ES module need a `require`.
    banner: {
      js:
        "import { createRequire } from 'node:module'; " +
        'const require = createRequire(import.meta.url);',
    },
    external: ['@photostructure/sqlite'],
    write: false,
    logLevel: 'warning',
  });
  return outputFiles[0]?.text ?? '';
}
