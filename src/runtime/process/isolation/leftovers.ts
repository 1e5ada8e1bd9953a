// Deletes what removed containers and images leave, without waiting for it.

import { existsSync, mkdirSync, renameSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Logger } from '#machinery/log.ts';
import type { ImageStore } from '../../images/image-store.ts';

export class Leftovers {
  readonly #trash: string;
  readonly #images: ImageStore;
  readonly #logger: Logger;
  #imagesInUse: () => ReadonlySet<string> = () => new Set();

  constructor(stateDir: string, images: ImageStore, logger: Logger) {
    this.#trash = join(stateDir, 'trash');
    this.#images = images;
    this.#logger = logger;
  }

  /** Deletes a container's directory, which may have many files. */
  discard(dir: string): void {
    mkdirSync(this.#trash, { recursive: true, mode: 0o700 });
    if (existsSync(dir)) renameSync(dir, join(this.#trash, basename(dir)));
    this.#emptyTrash();
    this.#collectImages();
  }

  /** Deletes files of removed images, now and later, as soon as no container uses them. */
  watchImages(inUse: () => ReadonlySet<string>): void {
    this.#imagesInUse = inUse;
    this.#images.onRemove(() => this.#collectImages());
    this.#collectImages();
    this.#emptyTrash();
  }

  #emptyTrash(): void {
    rm(this.#trash, { recursive: true, force: true }).catch((error: unknown) =>
      this.#logger.warn('files of removed containers not deleted', { err: error }),
    );
  }

  #collectImages(): void {
    this.#images
      .collect(this.#imagesInUse())
      .catch((error: unknown) =>
        this.#logger.warn('files of removed images not deleted', { err: error }),
      );
  }
}
