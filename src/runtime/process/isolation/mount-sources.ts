// The sources of containers' mounts: directories of images and of the host, and devices.

import { existsSync, mkdirSync, readdirSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { CriError } from '#cri/index.ts';
import type { ImageStore } from '../../images/image-store.ts';
import type { CheckedMount } from './plan.ts';
import { optional } from './programs.ts';

const MAX_DEVICES = 500;

/** Returns the source of a mount without links. Throws InvalidArgument. */
export function sourceOf(mount: CheckedMount, images: ImageStore): string {
  const { image, imageSubPath = '', hostPath = '', containerPath } = mount;
  const fail = (why: string): never => {
    throw new CriError('InvalidArgument', `cannot mount a volume at ${containerPath}: ${why}`);
  };
  if (image?.image) {
    const stored = images.require(image);
    const root = realpathSync(images.rootDirectory(stored.id) ?? fail('the image is gone'));
    const source = optional(() => realpathSync(join(root, imageSubPath)));
    if (source === undefined) return fail(`the image has no ${JSON.stringify(imageSubPath)}`);
    if (source !== root && !source.startsWith(`${root}/`))
      return fail(`${JSON.stringify(imageSubPath)} leads out of the image`);
    return source;
  }
  // As by other runtimes, a directory that does not exist is made.
  if (!existsSync(hostPath)) mkdirSync(hostPath, { recursive: true });
  return realpathSync(hostPath);
}

/** Returns the device nodes of the host, without terminals of other sessions. */
export function hostDevices(): readonly string[] {
  return readdirSync('/dev', { withFileTypes: true })
    .filter((entry) => entry.isBlockDevice() || entry.isCharacterDevice())
    .map(({ name }) => name)
    .filter((name) => !/^(?:null|zero|full|u?random|tty\d*|console|ptmx|vcs.*)$/.test(name))
    .slice(0, MAX_DEVICES)
    .map((name) => `/dev/${name}`);
}
