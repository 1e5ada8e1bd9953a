// The frame of all pages: header, navigation, the page itself, and what lies over them.

import {
  ActionIcon,
  Burger,
  Drawer,
  Menu,
  Tooltip,
  UnstyledButton,
  Kbd,
  useMantineColorScheme,
  useComputedColorScheme,
} from '@mantine/core';
import { type ReactNode, Suspense, useEffect, useRef, useState } from 'react';
import { lazyComponent } from '../parts/lazy-component.ts';
import { Link, useLocation } from 'wouter';
import { ErrorBoundary } from '../parts/error-boundary.tsx';
import { Loading } from '../parts/basics.tsx';
import { useStore } from '../parts/hooks.ts';
import { useServices } from '../services.ts';
import { ConnectionBanner } from './connection-banner.tsx';
import { useGlobalKeys } from './keys.ts';
import { Logo } from './logo.tsx';
import { NamespaceSelect } from './namespace-select.tsx';
import { Navigation } from './navigation.tsx';
import { Pages } from './pages.tsx';
import { SessionBanner } from './session-banner.tsx';

const Search = lazyComponent(async () => (await import('./search.tsx')).Search);
const KeyHelp = lazyComponent(async () => (await import('./key-help.tsx')).KeyHelp);

export function Layout(): ReactNode {
  const [menuOpen, setMenuOpen] = useState(false);
  const [searchOpen, setSearchOpen] = useState(false);
  const [helpOpen, setHelpOpen] = useState(false);
  const [location] = useLocation();
  const main = useRef<HTMLElement>(null);
  useGlobalKeys({ search: () => setSearchOpen(true), help: () => setHelpOpen(true) });
  useEffect(() => setMenuOpen(false), [location]);
  return (
    <div className="frame">
      <a
        className="skip-link"
        href="#content"
        onClick={(event) => {
          // The fragment is the page's address.
          event.preventDefault();
          main.current?.focus();
        }}
      >
        Skip to content
      </a>
      <header className="header">
        <Burger
          opened={menuOpen}
          onClick={() => setMenuOpen(!menuOpen)}
          size="sm"
          className="small-only"
          aria-label="Navigation"
        />
        <Link href="/" className="brand" aria-label="Coxswain: overview">
          <Logo size={26} />
          <span className="wide-only">Coxswain</span>
        </Link>
        <NamespaceSelect />
        <UnstyledButton
          className="search-button"
          onClick={() => setSearchOpen(true)}
          aria-label="Search everything … Ctrl K"
          aria-keyshortcuts="Control+K"
        >
          <SearchIcon />
          <span className="wide-only">Search everything …</span>
          <Kbd size="xs" className="wide-only">
            Ctrl K
          </Kbd>
        </UnstyledButton>
        <div className="header-end">
          <Tooltip label="Keyboard shortcuts (?)">
            <ActionIcon
              variant="subtle"
              color="gray"
              aria-label="Keyboard shortcuts"
              className="wide-only"
              onClick={() => setHelpOpen(true)}
            >
              ?
            </ActionIcon>
          </Tooltip>
          <ColorSchemeButton />
          <UserMenu />
        </div>
      </header>
      <nav className="sidebar wide-only" aria-label="Kinds">
        <Navigation />
      </nav>
      <Drawer
        opened={menuOpen}
        onClose={() => setMenuOpen(false)}
        title="Navigation"
        size="280px"
        closeButtonProps={{ 'aria-label': 'Close navigation' }}
      >
        <nav aria-label="Kinds">
          <Navigation />
        </nav>
      </Drawer>
      <main className="content" id="content" tabIndex={-1} ref={main}>
        <ConnectionBanner />
        <SessionBanner />
        <ErrorBoundary resetKey={location}>
          <Suspense fallback={<Loading what="the page" />}>
            <Pages />
          </Suspense>
        </ErrorBoundary>
      </main>
      <Suspense>
        {searchOpen && <Search onClose={() => setSearchOpen(false)} />}
        {helpOpen && <KeyHelp onClose={() => setHelpOpen(false)} />}
      </Suspense>
    </div>
  );
}

const SearchIcon = (): ReactNode => (
  <svg viewBox="0 0 16 16" width="14" height="14" aria-hidden="true">
    <circle cx="6.8" cy="6.8" r="4.8" fill="none" stroke="currentColor" strokeWidth="1.6" />
    <path d="M10.5 10.5 14.5 14.5" stroke="currentColor" strokeWidth="1.6" strokeLinecap="round" />
  </svg>
);

function ColorSchemeButton(): ReactNode {
  const { setColorScheme } = useMantineColorScheme();
  const dark = useComputedColorScheme('light') === 'dark';
  return (
    <ActionIcon
      variant="subtle"
      color="gray"
      aria-label={dark ? 'Light colours' : 'Dark colours'}
      onClick={() => setColorScheme(dark ? 'light' : 'dark')}
    >
      <svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
        <circle cx="8" cy="8" r="6.2" fill="none" stroke="currentColor" strokeWidth="1.5" />
        <path d="M8 1.8a6.2 6.2 0 0 1 0 12.4z" fill="currentColor" />
      </svg>
    </ActionIcon>
  );
}

function UserMenu(): ReactNode {
  const { session, connection, tables } = useServices();
  const info = useStore(session.info);
  if (info === undefined) return null;
  const name = info.user === '' ? 'signed in' : info.user;
  const signOut = async (): Promise<void> => {
    await session.signOut().catch((error: unknown) => console.warn('sign-out failed', error));
    tables.clear();
    connection.signedOut();
  };
  return (
    <Menu position="bottom-end" width={260}>
      <Menu.Target>
        <UnstyledButton className="user-button" aria-label={`Signed in as ${name}`}>
          <span className="avatar" data-letter={letterOf(name)} />
          <span className="wide-only user-name">{name}</span>
        </UnstyledButton>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>
          {name}
          {(info.groups ?? []).map((group) => (
            <div key={group}>{group}</div>
          ))}
        </Menu.Label>
        {info.expires !== undefined && (
          <Menu.Label>Until {new Date(info.expires).toLocaleString()}</Menu.Label>
        )}
        <Menu.Divider />
        <Menu.Item onClick={() => void signOut()}>Sign out</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

const letterOf = (name: string): string =>
  name
    .replace(/^system:/, '')
    .slice(0, 1)
    .toUpperCase();
