// Features that a host process cannot have. A pod that requires one is rejected with a message that
// names it, instead of running without it. Settings that are accepted and not enforced (limits,
// read-only root, namespaces) are in the README.

import { accessSync, constants, statSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { type ContainerConfig, CriError, type PodSandboxConfig } from '#cri/index.ts';
import type { Program, RunAs, Tools } from './program.ts';

function refuse(message: string): never {
  throw new CriError('InvalidArgument', `the process runtime runs host processes: ${message}`);
}

export function checkSandbox(config: PodSandboxConfig): void {
  for (const { hostPort, containerPort } of config.portMappings ?? []) {
    if (hostPort && containerPort && hostPort !== containerPort) {
      refuse(
        `it cannot forward host port ${hostPort} to container port ${containerPort}; use the same number for both`,
      );
    }
  }
  if (Object.keys(config.linux?.sysctls ?? {}).length > 0)
    refuse('a pod cannot have sysctls of its own');
}

function runAsOf(config: ContainerConfig): RunAs | undefined {
  const context = config.linux?.securityContext;
  const [myUid, myGid] = [process.getuid?.() ?? 0, process.getgid?.() ?? 0];
  const uid = context?.runAsUser?.value ?? myUid;
  const gid =
    context?.runAsGroup?.value ??
    (context?.runAsUser === undefined ? myGid : uid === myUid ? myGid : 0);
  const groups = context?.supplementalGroups ?? [];
  if (context?.runAsGroup !== undefined && context.runAsUser === undefined)
    refuse('runAsGroup needs runAsUser');
  if (context?.runAsUsername)
    refuse(
      `it does not know the image's user ${JSON.stringify(context.runAsUsername)}; use runAsUser`,
    );
  const mine = new Set([myGid, ...(process.getgroups?.() ?? [])]);
  if (uid === myUid && gid === myGid && groups.every((group) => mine.has(group))) return undefined;
  if (myUid !== 0)
    refuse(
      `without root it cannot run as user ${uid}, group ${gid} and groups [${groups.join(' ')}], only as user ${myUid}`,
    );
  return { uid, gid, groups };
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

/**
 * Finds the program of a container on the host. Throws a CriError that names a missing feature or
 * program.
 */
export function checkContainer(
  config: ContainerConfig,
  path: string,
  cwd: string,
  tools: Tools,
): Program {
  // Without a command, the arguments are the command: base images have no entry point.
  const [program = '', ...args] = [...(config.command ?? []), ...(config.args ?? [])];
  if (program === '') {
    refuse(
      `image ${JSON.stringify(config.image?.image ?? '')} has no default command here; set ` +
        "the container's command or args",
    );
  }
  if (config.workingDir && !isDirectory(config.workingDir))
    refuse(`working directory ${JSON.stringify(config.workingDir)} is not on this host`);
  if ((config.devices ?? []).some(({ hostPath, containerPath }) => hostPath !== containerPath))
    refuse('it cannot give devices other names');
  if ((config.mounts ?? []).some(({ image }) => image !== undefined))
    refuse('it has no images to mount as volumes');
  const found = findExecutable(program, path, config.workingDir || cwd);
  if (found === undefined) {
    throw new CriError(
      'NotFound',
      `the process runtime runs host programs, and this host has no executable ${JSON.stringify(program)} on its PATH`,
    );
  }
  const runAs = runAsOf(config);
  if (runAs !== undefined && tools.setpriv === undefined) {
    refuse('to run as another user it needs setpriv, which this host does not have (util-linux)');
  }
  return { command: [found, ...args], runAs };
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

/** Returns the file that a command names, as execvp finds it. */
export function findExecutable(program: string, path: string, cwd: string): string | undefined {
  if (program.includes('/')) {
    const file = isAbsolute(program) ? program : join(cwd, program);
    return isExecutable(file) ? file : undefined;
  }
  return path
    .split(':')
    .map((dir) => join(dir || '.', program))
    .find(isExecutable);
}
