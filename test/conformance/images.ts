// Makes the images that the suite's pods name on this machine, since a registry is often
// unreachable: one root file system of Debian packages, upstream's own test programs on top of it,
// and the names and entry points that the tests expect.

import { createHash } from 'node:crypto';
import {
  appendFileSync,
  chmodSync,
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { findProgram } from '#cluster/machine/install.ts';
import { UserError } from '#cluster/user-error.ts';
import { writeBusyboxArchive } from '../fixtures/images/build.ts';
import { ensureCoredns, ensureEtcd, etcdVersion, goBuild, moduleSource } from './binaries.ts';
import { ensureCsiImages } from './csi/images.ts';
import { ensurePackageImages } from './package-images.ts';
import { ensureProductImage } from './product-image.ts';
import {
  type Descriptor,
  type Image,
  run,
  writeArchive,
  writeLayer,
  writeRegistry,
} from './oci-layout.ts';

const REGISTRY = 'registry.k8s.io/e2e-test-images';

/** The packages that tests use inside of their containers, directly or through agnhost. */
const PACKAGES = [
  'ca-certificates',
  'curl',
  'dnsutils',
  'iproute2',
  'net-tools',
  'netcat-openbsd',
  'procps',
  'perl-base',
  'nginx-light',
  'iperf',
  'iptables',
  'conntrack',
  'util-linux',
  'bsdextrautils',
  'stress',
];

/** The users and groups of tests of supplementary groups. */
const USERS = 'user-defined-in-image:x:1000:1000::/home/user-defined-in-image:/bin/sh\n';
const GROUPS =
  'user-defined-in-image:x:1000:\ngroup-defined-in-image:x:50000:user-defined-in-image\n';

const BUSYBOX_NAMES = ['busybox:1.37.0-1', 'busybox:1.36.1-1'].map((name) => `${REGISTRY}/${name}`);

const BUSYBOX_SOURCE = {
  url: 'http://deb.debian.org/debian/pool/main/b/busybox/busybox_1.37.0.orig.tar.bz2',
  sha256: '3311dff32e746499f4df0d5df04d7eb396382d7e108bb9250e7b519b837043a4',
};

const AGNHOST = ['base', 'agnhost', 'registry'];

const PAUSE: Image = {
  names: ['registry.k8s.io/pause:3.10.2'],
  layers: ['pause'],
  entrypoint: ['/pause'],
  cmd: [],
  user: '65535:65535',
};

const IMAGES: readonly Image[] = [
  {
    names: [`${REGISTRY}/agnhost:2.63.0`, `${REGISTRY}/agnhost:2.55`],
    layers: AGNHOST,
    entrypoint: ['/agnhost'],
    cmd: ['pause'],
  },
  PAUSE,
  {
    names: [`${REGISTRY}/nautilus:1.8`],
    layers: [...AGNHOST, 'nautilus'],
    entrypoint: ['/agnhost'],
    cmd: ['test-webserver'],
  },
  {
    names: [`${REGISTRY}/kitten:1.8`],
    layers: [...AGNHOST, 'kitten'],
    entrypoint: ['/agnhost'],
    cmd: ['test-webserver'],
  },
  { names: [`${REGISTRY}/nonewprivs:1.4`], layers: ['base', 'nonewprivs'], cmd: ['nnp'] },
  {
    names: [`${REGISTRY}/resource-consumer:1.14`],
    layers: ['base', 'resource-consumer'],
    entrypoint: ['/consumer'],
    cmd: [],
  },
  { names: [`${REGISTRY}/nonroot:1.5`], layers: ['base'], cmd: ['bash'], user: '1234' },
  {
    names: [
      `${REGISTRY}/glibc-dns-testing:2.0.0`,
      `${REGISTRY}/ipc-utils:1.4`,
      `${REGISTRY}/perl:5.26`,
      'registry.k8s.io/build-image/distroless-iptables:v0.9.6',
    ],
    layers: ['base'],
    cmd: ['bash'],
  },
  {
    names: [`${REGISTRY}/sample-apiserver:1.29.2`],
    layers: ['base', 'sample-apiserver'],
    entrypoint: ['/sample-apiserver'],
    cmd: [],
  },
  {
    names: [`${REGISTRY}/regression-issue-74839:1.4`],
    layers: ['base', 'regression-issue-74839'],
    entrypoint: ['/regression-issue-74839'],
    cmd: [],
  },
  {
    names: [`${REGISTRY}/sample-device-plugin:1.7`],
    layers: ['base', 'sample-device-plugin'],
    entrypoint: ['/sampledeviceplugin', '-alsologtostderr'],
    cmd: [],
  },
  { names: ['registry.k8s.io/etcd:3.6.8-0'], layers: ['base', 'etcd'], cmd: [] },
  {
    names: [`${REGISTRY}/nginx:1.27-0`, `${REGISTRY}/nginx:1.15-4`],
    layers: ['base', 'nginx'],
    cmd: ['nginx', '-g', 'daemon off;'],
  },
];

/** The materials of layers. */
interface Materials {
  /** The program that the busybox images have. */
  readonly busybox: string;
  /** The directory of the blobs, and the layers that are made already. */
  readonly blobs: string;
  readonly layers: ReadonlyMap<string, Descriptor>;
}

/** Functions that fill a directory with each layer's files, in the order in which they run. */
const LAYERS: Readonly<Record<string, (dir: string, materials: Materials) => void>> = {
  pause(dir) {
    const source = join(moduleSource(), 'build', 'pause', 'linux', 'pause.c');
    run('gcc', ['-Os', '-static', '-DVERSION=v3.10.2', '-o', join(dir, 'pause'), source]);
  },
  base(dir, { busybox }) {
    run('debootstrap', [
      '--variant=minbase',
      `--include=${PACKAGES.join(',')}`,
      'bookworm',
      dir,
      'http://deb.debian.org/debian',
    ]);
    for (const path of [
      'var/cache/apt',
      'var/lib/apt/lists',
      'var/log',
      'usr/share/doc',
      'usr/share/man',
      'usr/share/locale',
    ]) {
      rmSync(join(dir, path), { recursive: true, force: true });
    }
    // nginx writes its logs there.
    mkdirSync(join(dir, 'var/log/nginx'), { recursive: true });
    appendFileSync(join(dir, 'etc/passwd'), USERS);
    appendFileSync(join(dir, 'etc/group'), GROUPS);
    copyFileSync(busybox, join(dir, 'bin/busybox'));
    addApplets(dir);
  },
  agnhost(dir) {
    goBuild('k8s.io/kubernetes/test/images/agnhost', join(dir, 'agnhost'));
    symlinkSync('agnhost', join(dir, 'agnhost-2'));
    copyFileSync(
      ensureCoredns(() => undefined),
      join(dir, 'coredns'),
    );
    mkdirSync(join(dir, 'uploads'));
    // Tests use `[[`, which the shell of the published image has.
    mkdirSync(join(dir, 'usr/bin'), { recursive: true });
    symlinkSync('bash', join(dir, 'usr/bin/sh'));
    for (const file of ['localhost.crt', 'localhost.key'])
      copyFileSync(source(`agnhost/porter/${file}`), join(dir, file));
  },
  /** The registry that agnhost serves has the image `pause:testing`. */
  registry(dir, { blobs, layers }) {
    writeRegistry(blobs, PAUSE, layers, { dir: join(dir, 'var/registry/pause'), tag: 'testing' });
  },
  /** Tests ask for a page of this name, which the published image has. */
  nginx(dir) {
    const page = join(dir, 'var/www/html/index.html');
    mkdirSync(dirname(page), { recursive: true });
    writeFileSync(page, '<html><body>nginx</body></html>\n');
  },
  nautilus: (dir) => copyPage('nautilus', dir),
  /** The published image is made from Alpine Linux, and a test reads that in a file of it. */
  kitten(dir) {
    copyPage('kitten', dir);
    mkdirSync(join(dir, 'etc'));
    writeFileSync(join(dir, 'etc/os-release'), 'NAME="Alpine Linux"\nID=alpine\n');
  },
  nonewprivs(dir) {
    const program = join(dir, 'usr/local/bin/nnp');
    mkdirSync(dirname(program), { recursive: true });
    goBuild('k8s.io/kubernetes/test/images/nonewprivs', program);
    chmodSync(program, 0o6755);
  },
  'resource-consumer'(dir) {
    goBuild('k8s.io/kubernetes/test/images/resource-consumer', join(dir, 'consumer'));
    goBuild(
      'k8s.io/kubernetes/test/images/resource-consumer/consume-cpu',
      join(dir, 'consume-cpu'),
    );
  },
  'regression-issue-74839': (dir) =>
    goBuild(
      'k8s.io/kubernetes/test/images/regression-issue-74839',
      join(dir, 'regression-issue-74839'),
    ),
  'sample-device-plugin': (dir) =>
    goBuild('k8s.io/kubernetes/test/images/sample-device-plugin', join(dir, 'sampledeviceplugin')),
  'sample-apiserver': (dir) => goBuild('k8s.io/sample-apiserver', join(dir, 'sample-apiserver')),
  /** This etcd is newer than the version in the image's name. */
  etcd(dir) {
    const program = join(dir, 'usr/local/bin/etcd');
    mkdirSync(dirname(program), { recursive: true });
    copyFileSync(
      ensureEtcd(() => undefined),
      program,
    );
  },
};

/** Adds the programs of busybox that the root file system lacks: published images have them all. */
function addApplets(dir: string): void {
  const folders = ['usr/local/bin', 'usr/bin', 'usr/sbin', 'bin', 'sbin'];
  for (const applet of run(join(dir, 'bin/busybox'), ['--list']).trim().split('\n')) {
    // Links to the alternatives of Debian lead nowhere on this machine, but exist.
    if (folders.some((folder) => isThere(join(dir, folder, applet)))) continue;
    symlinkSync('/bin/busybox', join(dir, 'usr/local/bin', applet));
  }
}

const isThere = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false }) !== undefined;

const source = (path: string): string => join(moduleSource(), 'test', 'images', path);

function copyPage(animal: string, dir: string): void {
  for (const file of [`${animal}.jpg`, 'data.json'])
    copyFileSync(source(`${animal}/html/${file}`), join(dir, file));
}

/** The file of busybox, a program without libraries, once ensureImages has made it. */
export const busyboxIn = (cache: string): string => join(cache, 'images', 'busybox-1.37.0');

/**
 * Returns the archives of all images, for `ctr images import`; missing ones are made and kept in
 * `cache`. Rejects with a UserError if a program that makes them is missing.
 */
export async function ensureImages(
  cache: string,
  progress: (text: string) => void,
): Promise<readonly string[]> {
  const dir = join(cache, 'images');
  const programs = join(dir, `programs-${recipe()}.tar`);
  const busybox = busyboxIn(cache);
  const busyboxImages = `${busybox}.tar`;
  if (!existsSync(busybox)) {
    progress('making busybox; this takes a minute or two, once');
    mkdirSync(dir, { recursive: true });
    buildBusybox(dir, busybox);
  }
  if (!existsSync(busyboxImages)) writeBusyboxArchive(busyboxImages, BUSYBOX_NAMES, busybox);
  if (!existsSync(programs)) {
    for (const [program, hint] of [
      ['debootstrap', 'apt-get install debootstrap'],
      ['gcc', 'apt-get install gcc libc6-dev'],
      ['go', 'install Go 1.26 or later (https://go.dev/dl)'],
    ] as const) {
      if (findProgram(program) === undefined)
        throw new UserError(`the images of the tests are made with ${program}: ${hint}`);
    }
    progress(`making the images of the tests in ${dir}; this takes some minutes, once`);
    await writeLayout(dir, busybox, programs, progress);
  }
  return [
    busyboxImages,
    programs,
    await ensureCsiImages(dir, programs, progress),
    await ensurePackageImages(dir, programs, progress),
    await ensureProductImage(dir, programs, progress),
  ];
}

/** Returns a hash of the way in which images are made: after a change, all images are made anew. */
function recipe(): string {
  return createHash('sha256')
    .update(
      JSON.stringify([
        PACKAGES,
        USERS,
        GROUPS,
        IMAGES,
        BUSYBOX_SOURCE,
        etcdVersion(),
        [...Object.values(LAYERS), addApplets].map(String),
      ]),
    )
    .digest('hex')
    .slice(0, 12);
}

/**
 * Builds busybox from the release's sources in Debian's archive. Tests expect the behaviour of the
 * published busybox: its shell passes on variables such as `data-1`, and its `wget -T` works.
 * Debian's own busybox is patched not to do the first, and crashes at the second.
 */
function buildBusybox(cache: string, output: string): void {
  for (const program of ['gcc', 'make', 'bzip2']) {
    if (findProgram(program) === undefined)
      throw new UserError(
        `busybox is built with ${program}: apt-get install gcc libc6-dev make bzip2`,
      );
  }
  const dir = mkdtempSync(join(cache, 'busybox-'));
  try {
    const archive = join(dir, 'source.tar.bz2');
    // apt runs as root: its own user may not write to this directory.
    const apt = ['-o', 'APT::Sandbox::User=root', 'download-file'];
    run('/usr/lib/apt/apt-helper', [
      ...apt,
      BUSYBOX_SOURCE.url,
      archive,
      `SHA256:${BUSYBOX_SOURCE.sha256}`,
    ]);
    run('tar', ['-C', dir, '--strip-components=1', '-xf', archive]);
    run('make', ['-C', dir, 'defconfig']);
    const config = join(dir, '.config');
    writeFileSync(
      config,
      readFileSync(config, 'utf8').replace('# CONFIG_STATIC is not set', 'CONFIG_STATIC=y'),
    );
    run('make', ['-C', dir, '-j2', 'busybox']);
    renameSync(join(dir, 'busybox'), output);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/** Imports the archives into the containerd of a cluster. */
export function importImages(socket: string, archives: readonly string[]): void {
  for (const archive of archives)
    run('ctr', ['-a', socket, '-n', 'k8s.io', 'images', 'import', archive]);
}

/** Writes one archive of all images, which share their layers. */
async function writeLayout(
  cache: string,
  busybox: string,
  output: string,
  progress: (text: string) => void,
): Promise<void> {
  const layout = mkdtempSync(join(cache, 'layout-'));
  try {
    const blobs = join(layout, 'blobs', 'sha256');
    mkdirSync(blobs, { recursive: true });
    const layers = new Map<string, Descriptor>();
    for (const [name, fill] of Object.entries(LAYERS)) {
      progress(`layer ${name}`);
      const materials = { busybox, blobs, layers };
      layers.set(name, await writeLayer(blobs, layout, (dir) => fill(dir, materials)));
    }
    writeArchive(layout, IMAGES, layers, output);
  } finally {
    rmSync(layout, { recursive: true, force: true });
  }
}
