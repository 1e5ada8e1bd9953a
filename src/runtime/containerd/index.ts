// The public interface of the containerd runtime.

export { createContainerdRuntime } from './create.ts';
export type { ContainerdRuntimeConfig } from './create.ts';
export { missingContainerdTools } from './host.ts';
export type { MissingTools } from './host.ts';
export { imageArchive } from './image-archive.ts';
export type { ImageArchiveConfig, ImageFile } from './image-archive.ts';
export { imageVolumesIn, launchContainerd } from './launch.ts';
export type { LaunchContainerdConfig, LaunchedContainerd } from './launch.ts';
