// The methods of CRI's ImageService, as calls of a Runtime of this process.

import type { Runtime } from '#cri/index.ts';
import type { RpcHandlers } from '#machinery/grpc/server.ts';
import type { CriSchema } from './schema.ts';

export function imageService({ images }: Runtime): RpcHandlers<CriSchema, 'ImageService'> {
  return {
    ListImages: async ({ filter }, { signal }) => ({
      images: await images.listImages(filter, { signal }),
    }),
    ImageStatus: ({ image, verbose }, { signal }) =>
      images.imageStatus(image ?? {}, { verbose, signal }),
    PullImage: async ({ image, auth, sandboxConfig }, { signal }) => ({
      imageRef: await images.pullImage(image ?? {}, auth, sandboxConfig, { signal }),
    }),
    RemoveImage: async ({ image }, { signal }) => {
      await images.removeImage(image ?? {}, { signal });
      return {};
    },
    ImageFsInfo: (_, { signal }) => images.imageFsInfo({ signal }),
  };
}
