// `cox image load|list|prune`: the images of a cluster's containerd.

import { type ImageInfo, listImages, loadImages, pruneImages } from '#cluster/runtimes/images.ts';
import { progressLine, shortest } from '../terminal.ts';
import { bytes, type OutputFlags, table, writeJson } from './output.ts';

export interface ImageFlags extends OutputFlags {
  readonly dataDir: string;
  readonly containerRuntimeEndpoint?: string;
}

const configOf = ({ dataDir, containerRuntimeEndpoint: endpoint }: ImageFlags) => ({
  dataDir,
  ...(endpoint !== undefined && { endpoint }),
});

export async function list(flags: ImageFlags): Promise<void> {
  const images = await listImages(configOf(flags));
  if (flags.output === 'json') writeJson({ images });
  else process.stdout.write(imageTable(images));
}

export async function load(
  sources: readonly string[],
  flags: ImageFlags & { readonly baseName?: string },
): Promise<void> {
  const progress = progressLine(flags.output === 'json');
  try {
    const images = await loadImages(configOf(flags), sources, {
      ...(flags.baseName !== undefined && { baseName: flags.baseName }),
      onSource: (source) => progress.show(`importing ${shortest(source)}`),
    });
    progress.clear();
    if (flags.output === 'json') writeJson({ images });
    else if (images.length === 0) process.stdout.write('the images were there already\n');
    else process.stdout.write(imageTable(images));
  } finally {
    progress.clear();
  }
}

export async function prune(flags: ImageFlags & { readonly dryRun?: boolean }): Promise<void> {
  const dryRun = flags.dryRun === true;
  const images = await pruneImages(configOf(flags), { dryRun });
  const freed = images.reduce((sum, image) => sum + image.bytes, 0);
  if (flags.output === 'json') {
    writeJson({ images, bytes: freed, removed: !dryRun });
    return;
  }
  if (images.length === 0) process.stdout.write('every image is in use\n');
  else
    process.stdout.write(
      `${imageTable(images)}${dryRun ? 'would be removed' : 'removed'}: ${images.length} images, ${bytes(freed)}\n`,
    );
}

function imageTable(images: readonly ImageInfo[]): string {
  const rows = images.flatMap(({ names, id, bytes: size, inUse }) =>
    (names.length === 0 ? ['<none>'] : names).map((name) => [
      name,
      id.replace('sha256:', '').slice(0, 12),
      bytes(size),
      inUse ? 'yes' : 'no',
    ]),
  );
  return table([['NAME', 'ID', 'SIZE', 'IN USE'], ...rows]);
}
