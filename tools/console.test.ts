// The built page of the console: its size, and that it suits the content security policy.

import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildConsole, MAX_FIRST_PAGE_BYTES } from './console.js';

describe('the page of the console', () => {
  const folder = mkdtempSync(join(tmpdir(), 'coxswain-console-'));
  let html: string;
  let size: Awaited<ReturnType<typeof buildConsole>>['size'];
  beforeAll(async () => {
    ({ size } = await buildConsole(folder));
    html = readFileSync(join(folder, 'index.html'), 'utf8');
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test('loads at most 250 kB at first', () => {
    expect(size.gzip).toBeLessThan(MAX_FIRST_PAGE_BYTES);
    expect(size.brotli).toBeLessThan(size.gzip);
  });

  test('has no inline script or style, and a place for the nonce', () => {
    expect(html).not.toMatch(/<style|<script(?![^>]* src=)|\son\w+=| style=/);
    expect(html).toContain('content="%CSP_NONCE%"');
  });

  test('loads its own files alone, and all of them exist', () => {
    const names = [...html.matchAll(/(?:src|href)="([^"]+)"/g)]
      .map(([, name = '']) => name)
      .filter((name) => !name.startsWith('data:'));
    expect(names.length).toBeGreaterThan(1);
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
    for (const name of names) expect(files).toContain(name);
  });

  test('evaluates no text', () => {
    const scripts = readdirSync(join(folder, 'assets')).filter((name) => name.endsWith('.js'));
    for (const name of scripts) {
      const text = readFileSync(join(folder, 'assets', name), 'utf8');
      expect(text, name).not.toMatch(/\bnew Function\(|[^.\w]eval\(/);
    }
  });
});
