// Builds and copies the files that the suite needs from Go's module proxy: the suite itself, the
// server that its pods run, and the definitions.

import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findProgram } from '#cluster/machine/install.ts';
import { UserError } from '#cluster/user-error.ts';
import { imageArchive } from '#runtime/containerd/image-archive.ts';

const moduleDir = fileURLToPath(new URL('.', import.meta.url));
const MODULE = 'sigs.k8s.io/gateway-api';

export interface GatewayPrograms {
  /** The version of the Gateway API, such as v1.6.3. */
  readonly version: string;
  readonly suite: string;
  /** An archive for `ctr images import`. */
  readonly image: string;
  /** The definitions of the standard channel. */
  readonly definitions: string;
}

export function requiredVersion(goMod = readFileSync(join(moduleDir, 'go.mod'), 'utf8')): string {
  const version = /sigs\.k8s\.io\/gateway-api\/conformance (v\S+)/.exec(goMod)?.[1];
  if (version === undefined)
    throw new Error('test/gateway/go.mod does not require the conformance suite');
  return version;
}

function programsOf(version: string): GatewayPrograms {
  // COXSWAIN_GATEWAY_CACHE moves the folder.
  const dir = join(
    process.env['COXSWAIN_GATEWAY_CACHE'] ?? join(homedir(), '.cache', 'coxswain', 'gateway'),
    version,
  );
  return {
    version,
    suite: join(dir, 'gateway.test'),
    image: join(dir, 'echo-basic.tar'),
    definitions: join(dir, 'crd'),
  };
}

/** Returns undefined if the programs have not been built. */
export function builtPrograms(): GatewayPrograms | undefined {
  const programs = programsOf(requiredVersion());
  return [programs.suite, programs.image, programs.definitions].every((path) => existsSync(path))
    ? programs
    : undefined;
}

/** Builds the missing programs. Throws a UserError if Go is missing or a build fails. */
export function ensurePrograms(progress: (text: string) => void): GatewayPrograms {
  const built = builtPrograms();
  if (built !== undefined) return built;
  if (findProgram('go') === undefined)
    throw new UserError('there is no `go` in PATH: install Go 1.26 or later (https://go.dev/dl)');
  const programs = programsOf(requiredVersion());
  const { version, suite, image, definitions } = programs;
  mkdirSync(join(suite, '..'), { recursive: true });
  if (!existsSync(definitions)) {
    const { Dir } = JSON.parse(go(['mod', 'download', '-json', `${MODULE}@${version}`])) as {
      readonly Dir: string;
    };
    cpSync(join(Dir, 'config', 'crd', 'standard'), `${definitions}.partial`, { recursive: true });
    renameSync(`${definitions}.partial`, definitions);
  }
  if (!existsSync(suite)) {
    progress('building the conformance suite of the Gateway API; this takes some minutes, once');
    go(['test', '-c', '-p', '1', '-ldflags', '-s -w', '-o', `${suite}.partial`, '.']);
    renameSync(`${suite}.partial`, suite);
  }
  if (!existsSync(image)) {
    progress('building the image of its pods');
    const program = join(suite, '..', 'echo-basic');
    go(
      ['build', '-p', '1', '-ldflags', '-s -w', '-o', program, `${MODULE}/conformance/echo-basic`],
      {
        CGO_ENABLED: '0',
      },
    );
    const files = [
      { path: 'tmp', mode: 0o1777 },
      { path: 'echo-basic', content: readFileSync(program) },
    ];
    writeFileSync(
      `${image}.partial`,
      imageArchive({ names: imageNames(version), files, entrypoint: ['/echo-basic'] }),
    );
    renameSync(`${image}.partial`, image);
  }
  return programs;
}

/**
 * CoreDNS is a back end of UDPRoutes, which no profile here has; the suite waits for its pod all
 * the same.
 */
const IMAGES = 'registry\\.k8s\\.io/(gateway-api/echo-basic|coredns/coredns):[A-Za-z0-9._-]+';

/** Returns the names of the image in the suite's manifests. */
function imageNames(version: string): readonly string[] {
  const { Dir } = JSON.parse(
    go(['mod', 'download', '-json', `${MODULE}/conformance@${version}`]),
  ) as {
    readonly Dir: string;
  };
  const names = new Set<string>();
  const { stdout } = spawnSync('grep', ['-rhoE', IMAGES, Dir], {
    encoding: 'utf8',
  });
  for (const name of stdout.split('\n')) if (name !== '') names.add(name);
  return [...names];
}

function go(args: readonly string[], env: NodeJS.ProcessEnv = {}): string {
  const { status, stdout } = spawnSync('go', [...args], {
    cwd: moduleDir,
    encoding: 'utf8',
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (status !== 0) throw new UserError(`go ${args.join(' ')} failed`);
  return stdout;
}
