// The public interface of the containerd runtime.

export { createContainerdRuntime } from './create.ts';
export type { ContainerdRuntimeConfig } from './create.ts';
export { missingContainerdTools, overlayfsWorks } from './host.ts';
export type { MissingTools } from './host.ts';
export { pauseImage } from './pause.ts';
export { imageArchive, imageBlobs } from './image-archive.ts';
export type { ImageArchiveConfig, ImageBlobs, ImageFile } from './image-archive.ts';
export { type ImportConfig, importImages, isOciLayout } from './import-images.ts';
export {
  imageVolumesIn,
  launchContainerd,
  pathsIn,
  registryDirIn,
  usedSnapshotter,
} from './launch.ts';
export type { LaunchContainerdConfig, LaunchedContainerd } from './launch.ts';
