// Makes images of Debian's packages and upstream's own programs that need more of the kernel than
// other tests: its NFS server, and AppArmor. And that of the pods that recycle volumes.

import { createHash } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { goBuild, moduleSource } from './binaries.ts';
import {
  baseLayer,
  type Descriptor,
  type Image,
  run,
  writeArchive,
  writeLayer,
} from './oci-layout.ts';

const REGISTRY = 'registry.k8s.io/e2e-test-images';

interface PackageImage {
  readonly image: Image;
  /** The image's own packages, and what of their dependencies the base does not have. */
  readonly packages: readonly string[];
  /** Lines of /etc/passwd for the users that scripts of the packages make. */
  readonly users: string;
  /** Adds upstream's files. */
  readonly fill: (to: string) => void;
}

const IMAGES: readonly PackageImage[] = [
  {
    image: {
      names: [`${REGISTRY}/volume/nfs:1.6.0`],
      layers: ['base', 'nfs'],
      entrypoint: ['/usr/local/bin/run_nfs.sh'],
      cmd: ['/exports', '/'],
    },
    users: '_rpc:x:100:65534::/run/rpcbind:/usr/sbin/nologin\n',
    packages: [
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
      'libnsl2',
      'libreadline8',
      'libsqlite3-0',
      'libtirpc-common',
      'libtirpc3',
      'libwrap0',
      'libxml2',
    ],
    fill(to) {
      const source = join(moduleSource(), 'test', 'images', 'volume', 'nfs');
      mkdirSync(join(to, 'exports'), { recursive: true });
      mkdirSync(join(to, 'tmp'), { recursive: true });
      chmodSync(join(to, 'tmp'), 0o1777);
      copyFileSync(join(source, 'index.html'), join(to, 'tmp', 'index.html'));
      mkdirSync(join(to, 'usr', 'local', 'bin'), { recursive: true });
      copyFileSync(join(source, 'run_nfs.sh'), join(to, 'usr', 'local', 'bin', 'run_nfs.sh'));
      chmodSync(join(to, 'usr', 'local', 'bin', 'run_nfs.sh'), 0o755);
    },
  },
  {
    image: {
      names: [`${REGISTRY}/apparmor-loader:1.4`],
      layers: ['base', 'apparmor'],
      entrypoint: ['/usr/bin/loader', '-logtostderr', '-v=2'],
      cmd: ['/profiles'],
    },
    users: '',
    packages: ['apparmor'],
    fill: (to) =>
      goBuild('k8s.io/kubernetes/test/images/apparmor-loader', join(to, 'usr', 'bin', 'loader')),
  },
];

/** The image of upstream's recycler pods, which the product starts, too: see RecyclerSettings. */
const RECYCLER: Image = {
  names: ['registry.k8s.io/build-image/debian-base:bookworm-v1.0.6'],
  layers: ['base'],
  cmd: ['/bin/sh'],
};

/**
 * Returns the archive of the images. `programs`: an archive of `dir` whose first layer is the base
 * of these images, too.
 */
export async function ensurePackageImages(
  dir: string,
  programs: string,
  progress: (text: string) => void,
): Promise<string> {
  const recipes = IMAGES.map(({ fill, ...rest }) => [rest, String(fill)]);
  const hash = createHash('sha256')
    .update(JSON.stringify([basename(programs), RECYCLER, recipes]))
    .digest('hex')
    .slice(0, 12);
  const output = join(dir, `packages-${hash}.tar`);
  if (existsSync(output)) return output;
  progress('making the images of the NFS server and of AppArmor');
  const layout = mkdtempSync(join(dir, 'packages-layout-'));
  try {
    const blobs = join(layout, 'blobs', 'sha256');
    mkdirSync(blobs, { recursive: true });
    const base = baseLayer(programs, layout);
    const layers = new Map<string, Descriptor>([['base', base]]);
    const file = join(blobs, base.digest.slice('sha256:'.length));
    const passwd = run('tar', ['-xOf', file, './etc/passwd']);
    for (const { image, packages, users, fill } of IMAGES) {
      const [, name = ''] = image.layers;
      const scratch = mkdtempSync(join(layout, `${name}-`));
      const layer = await writeLayer(blobs, layout, (to) => {
        unpack(packages, scratch, to);
        writeFileSync(join(to, 'etc', 'passwd'), `${passwd}${users}`);
        fill(to);
      });
      layers.set(name, layer);
    }
    const images = IMAGES.map(({ image }) => image);
    writeArchive(layout, [RECYCLER, ...images], layers, output);
  } finally {
    rmSync(layout, { recursive: true, force: true });
  }
  return output;
}

/** Unpacks packages of this machine's release. None of their scripts runs. */
function unpack(packages: readonly string[], scratch: string, to: string): void {
  const archives = join(scratch, 'packages');
  mkdirSync(archives);
  // apt runs as root: its own user may not write to this directory.
  run('apt-get', ['-o', 'APT::Sandbox::User=root', 'download', ...packages], archives);
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
}
