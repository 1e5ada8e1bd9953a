import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { imageSourcesIn, listImages } from './images.ts';

describe('a folder of images', () => {
  let dir: string;
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'cox-images-'));
  });
  afterEach(() => rmSync(dir, { recursive: true }));

  const layout = (path: string): void => {
    mkdirSync(path, { recursive: true });
    writeFileSync(join(path, 'oci-layout'), '{}');
    writeFileSync(join(path, 'index.json'), '{}');
  };

  test('has archives and layouts, in the order of their names', async () => {
    for (const name of ['b.tar', 'a.tar.gz', 'README.md', 'c.txt'])
      writeFileSync(join(dir, name), '');
    mkdirSync(join(dir, 'folder.tar'));
    layout(join(dir, 'layout'));
    const names = ['a.tar.gz', 'b.tar', 'layout'].map((name) => join(dir, name));
    expect(await imageSourcesIn(dir)).toEqual(names);
  });

  test('may be a layout itself', async () => {
    layout(dir);
    expect(await imageSourcesIn(dir)).toEqual([dir]);
  });

  test('without images is an error, and so is one that is not there', async () => {
    await expect(imageSourcesIn(dir)).rejects.toThrow('has neither archives');
    await expect(imageSourcesIn(join(dir, 'none'))).rejects.toThrow('--images: cannot read');
  });

  test('images of a directory without a cluster, or without containerd, are none', async () => {
    await expect(listImages({ dataDir: dir })).rejects.toThrow('no cluster has ever run');
    writeFileSync(join(dir, 'cox.tag'), '');
    await expect(listImages({ dataDir: dir })).rejects.toThrow('no containerd that runs');
    const endpoint = `unix://${join(dir, 'none.sock')}`;
    await expect(listImages({ dataDir: dir, endpoint })).rejects.toThrow('no containerd answers');
  });
});
