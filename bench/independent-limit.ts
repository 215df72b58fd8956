import pg from 'pg'
import { KNOWN_ORDERS } from './limit.ts'

/*
 * An independent shop's tables: an order with its first event, its webhook delivery and its idempotency key, with the
 * indices that reading, listing, searching and sending need. One statement writes all four.
 */
export const LIMIT_DATABASE = 'bench_limit'

const TABLES = `
  create table orders (
    id text primary key, company_id text not null, code text not null unique, status text not null, alias text,
    from_asset text not null, from_units bigint not null, to_asset text not null, to_units bigint not null,
    rate numeric(30, 12) not null, till text, webhook_url text, goods jsonb, created_by text, request_id text,
    created_at timestamptz not null, updated_at timestamptz not null, expires_at timestamptz not null);
  create index on orders (company_id, id desc);
  create index on orders (company_id, alias) where alias is not null;
  create index on orders (expires_at) where status = 'INITIAL';
  create table events (
    order_id text not null, seq integer not null, company_id text not null, name text not null, facts jsonb not null,
    at timestamptz not null, primary key (order_id, seq));
  create index on events (company_id, at);
  create table deliveries (
    id text primary key, company_id text not null, order_id text not null, event text not null, url text not null,
    body text not null, next_at timestamptz, attempts smallint not null default 0);
  create index on deliveries (next_at) where next_at is not null;
  create table keys (
    company_id text not null, key text not null, fingerprint text not null, response text not null,
    created_at timestamptz not null, primary key (company_id, key));
  create index on keys (created_at);`

/** As long as ours; without colons, which start a pgbench variable. */
const BODY = 'x'.repeat(700)
const ANSWER = 'x'.repeat(1000)

const COMPANY = `'${'c'.repeat(24)}'`

/** Inserts one order, event, delivery and key. */
export const LIMIT_CREATE = `
  with o as (
    insert into orders values ({growing} || 'aaaaaaaaaaaa', ${COMPANY}, {random} || {growing}, 'INITIAL', null,
      'EUR', 5000, 'USDC', 54000000, 1.08, 'TILL-1', 'http://shop.example/hook', '{"goodsName": "Tea"}',
      'apiKey', {random}, now(), now(), now() + interval '5 minutes')
    returning id, code, company_id
  ), e as (
    insert into events select id, 1, company_id, 'order.initial', '{"rate": "1.08"}', now() from o
  ), d as (
    insert into deliveries
    select {random} || id, company_id, id, 'order.initial', 'http://shop.example/hook', '${BODY}', now() from o
  ), k as (
    insert into keys select company_id, {random} || {growing}, '${'f'.repeat(64)}', '${ANSWER}', now() from o
  )
  select id from o`

/** Reads one order by its code. */
export const LIMIT_READ = `select * from orders where code = 'known' || {known}`

/** Creates the tables and the orders to read. */
export async function makeLimitDatabase(connectionString: string): Promise<void> {
  const admin = new pg.Client({ connectionString })
  await admin.connect()
  await admin.query(`create database ${LIMIT_DATABASE}`)
  await admin.end()
  const url = new URL(connectionString)
  url.pathname = `/${LIMIT_DATABASE}`
  const client = new pg.Client({ connectionString: url.href })
  await client.connect()
  try {
    await client.query(TABLES)
    await client.query(`insert into orders select 'known' || lpad(to_hex(n), 12, '0'), ${COMPANY},
      'known' || lpad(to_hex(n), 12, '0'), 'PAID', null, 'EUR', 5000, 'USDC', 54000000, 1.08, 'TILL-1', null, '{}',
      'apiKey', 'r', now(), now(), now()
      from generate_series(0, ${KNOWN_ORDERS - 1}) n`)
    await client.query('analyze')
  } finally {
    await client.end()
  }
}
