-- Which program of ours sent the request, as it says itself; null: another program.
alter table audit add column client text constraint audit_client_known check (client in ('cli', 'mcp'));
