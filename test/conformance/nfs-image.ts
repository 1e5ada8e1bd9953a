// Makes the image of upstream's NFS server, of Debian's packages and upstream's own script. It needs
// the kernel's NFS server.

import { createHash } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { moduleSource } from './binaries.ts';
import {
  baseLayer,
  type Descriptor,
  type Image,
  run,
  writeArchive,
  writeLayer,
} from './oci-layout.ts';

/** The server, and what of its dependencies the base does not have. */
const PACKAGES = [
  'nfs-kernel-server',
  'nfs-common',
  'rpcbind',
  'netbase',
  'keyutils',
  'libcap2',
  'libcom-err2',
  'libdevmapper1.02.1',
  'libevent-core-2.1-7',
  'libgssapi-krb5-2',
  'libk5crypto3',
  'libkeyutils1',
  'libkrb5-3',
  'libkrb5support0',
  'libldap-2.5-0',
  'libnfsidmap1',
  'libreadline8',
  'libsqlite3-0',
  'libtirpc-common',
  'libtirpc3',
  'libwrap0',
  'libxml2',
];

const IMAGE: Image = {
  names: ['registry.k8s.io/e2e-test-images/volume/nfs:1.6.0'],
  layers: ['base', 'nfs'],
  entrypoint: ['/usr/local/bin/run_nfs.sh'],
  cmd: ['/exports', '/'],
};

/**
 * Returns the archive of the image. `programs`: an archive of `dir` whose first layer is the base of
 * this image, too.
 */
export async function ensureNfsImage(
  dir: string,
  programs: string,
  progress: (text: string) => void,
): Promise<string> {
  const hash = createHash('sha256')
    .update(JSON.stringify([basename(programs), IMAGE, PACKAGES]))
    .digest('hex')
    .slice(0, 12);
  const output = join(dir, `nfs-${hash}.tar`);
  if (existsSync(output)) return output;
  progress('making the image of the NFS server');
  const layout = mkdtempSync(join(dir, 'nfs-layout-'));
  try {
    const blobs = join(layout, 'blobs', 'sha256');
    mkdirSync(blobs, { recursive: true });
    const layers = new Map<string, Descriptor>([
      ['base', baseLayer(programs, layout)],
      ['nfs', await writeLayer(blobs, layout, (to) => fill(to, layout))],
    ]);
    writeArchive(layout, [IMAGE], layers, output);
  } finally {
    rmSync(layout, { recursive: true, force: true });
  }
  return output;
}

function fill(to: string, scratch: string): void {
  const archives = join(scratch, 'packages');
  mkdirSync(archives);
  // apt runs as root: its own user may not write to this directory.
  run('apt-get', ['-o', 'APT::Sandbox::User=root', 'download', ...PACKAGES], archives);
  // The base has links in the place of /lib and /sbin, as all of Debian.
  const usr = join(scratch, 'unpacked');
  for (const archive of readdirSync(archives))
    run('dpkg-deb', ['-x', join(archives, archive), usr]);
  for (const name of ['bin', 'lib', 'sbin'])
    if (existsSync(join(usr, name))) {
      mkdirSync(join(usr, 'usr', name), { recursive: true });
      run('cp', ['-a', `${join(usr, name)}/.`, join(usr, 'usr', name)]);
      rmSync(join(usr, name), { recursive: true });
    }
  rmSync(join(usr, 'usr', 'share', 'doc'), { recursive: true, force: true });
  run('cp', ['-a', `${usr}/.`, to]);
  mkdirSync(join(to, 'exports'), { recursive: true });
  mkdirSync(join(to, 'tmp'), { recursive: true });
  chmodSync(join(to, 'tmp'), 0o1777);
  const source = join(moduleSource(), 'test', 'images', 'volume', 'nfs');
  copyFileSync(join(source, 'index.html'), join(to, 'tmp', 'index.html'));
  mkdirSync(join(to, 'usr', 'local', 'bin'), { recursive: true });
  copyFileSync(join(source, 'run_nfs.sh'), join(to, 'usr', 'local', 'bin', 'run_nfs.sh'));
  chmodSync(join(to, 'usr', 'local', 'bin', 'run_nfs.sh'), 0o755);
}
