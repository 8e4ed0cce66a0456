"""What counts as a transaction block, library by library: inside calls are found, beside it clean."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.facts.marked import check, files, verify

DJANGO = {
    "atomic as a block": """
        from django.db import transaction
        import requests
        def pay(url):
            with transaction.atomic():
                requests.post(url)  #> CG201 requests.post
            requests.post(url)
    """,
    "atomic imported by name, with using and savepoint": """
        from django.db.transaction import atomic
        import requests
        def pay(url):
            with atomic(using="replica", savepoint=False):
                requests.post(url)  #> CG201 requests.post
    """,
    "atomic beside another context manager": """
        from django.db import transaction
        import requests
        def pay(url, lock):
            with lock, transaction.atomic(), open(url):
                requests.post(url)  #> CG201 requests.post
    """,
    "a context expression before atomic is outside, one after it inside": """
        from django.db import transaction
        import requests
        def pay(url):
            with requests.get(url), transaction.atomic(), requests.post(url):  #> CG201 requests.post
                pass
    """,
    "decorator without call": """
        from django.db import transaction
        import requests
        @transaction.atomic
        def pay(url):
            requests.post(url)  #> CG201 requests.post
    """,
    "decorator with call": """
        from django.db import transaction
        import requests
        @transaction.atomic()
        def pay(url):
            requests.post(url)  #> CG201 requests.post
    """,
    "decorator with using, on a method": """
        from django.db import transaction
        import requests
        class Shop:
            @transaction.atomic(using="shop")
            def pay(self, url):
                requests.post(url)  #> CG201 requests.post
            def look(self, url):
                requests.get(url)
    """,
    "decorator under a static method": """
        from django.db import transaction
        import requests
        class Shop:
            @staticmethod
            @transaction.atomic
            def pay(url):
                requests.post(url)  #> CG201 requests.post
            @classmethod
            @transaction.atomic
            def refund(cls, url):
                requests.post(url)  #> CG201 requests.post
    """,
    "method_decorator on a method": """
        from django.db import transaction
        from django.utils.decorators import method_decorator
        from django.views import View
        import requests
        class Pay(View):
            @method_decorator(transaction.atomic)
            def post(self, request):
                requests.post("https://bank.example")  #> CG201 requests.post
            def get(self, request):
                requests.get("https://bank.example")
    """,
    "method_decorator on a class, by name": """
        from django.db import transaction
        from django.utils.decorators import method_decorator
        from django.views import View
        import requests
        @method_decorator(transaction.atomic, name="post")
        class Pay(View):
            def post(self, request):
                requests.post("https://bank.example")  #> CG201 requests.post
            def get(self, request):
                requests.get("https://bank.example")
    """,
    "method_decorator on dispatch wraps the methods that it calls": """
        from django.db import transaction
        from django.utils.decorators import method_decorator
        from django.views import View
        import requests
        @method_decorator(transaction.atomic(using="shop"), name="dispatch")
        class Pay(View):
            def post(self, request):
                requests.post("https://bank.example")  #> CG201 requests.post
            def helper(self):
                requests.get("https://bank.example")
    """,
    "method_decorator with a list of decorators": """
        from django.db import transaction
        from django.utils.decorators import method_decorator
        from django.views import View
        from django.views.decorators.csrf import csrf_exempt
        import requests
        @method_decorator([csrf_exempt, transaction.atomic], name="post")
        class Pay(View):
            def post(self, request):
                requests.post("https://bank.example")  #> CG201 requests.post
    """,
    "method_decorator on a class, of an inherited method": """
        from django.db import transaction
        from django.utils.decorators import method_decorator
        from django.views import View
        import requests
        class Base(View):
            def post(self, request):
                self.pay()
            def pay(self):
                pass
        @method_decorator(transaction.atomic, name="pay")
        class Pay(Base):
            def pay(self):
                requests.post("https://bank.example")  #> CG201 requests.post
    """,
    "atomic applied by a call": """
        from django.db import transaction
        import requests
        def _pay(url):
            requests.post(url)  #> CG201 requests.post
        pay = transaction.atomic(_pay)
    """,
    "set_autocommit": """
        from django.db import transaction
        import requests
        def pay(url):
            requests.get(url)
            transaction.set_autocommit(False)
            try:
                requests.post(url)  #> CG201 requests.post
                transaction.commit()
            finally:
                transaction.set_autocommit(True)
            requests.get(url)
    """,
    "a connection's cursor": """
        from django.db import connection
        import requests
        def pay(url):
            with connection.cursor() as cursor:
                cursor.execute("BEGIN")
                requests.post(url)  #> CG201 requests.post
                cursor.execute("COMMIT")
                requests.post(url)
    """,
    "a method that the framework wraps, though nothing else speaks of transactions": """
        from django.contrib import admin
        import requests
        @admin.register(object)
        class OrderAdmin(admin.ModelAdmin):
            def save_model(self, request, obj, form, change):
                requests.post("https://bank.example")  #> CG201 requests.post
    """,
    "a cursor alone is none": """
        from django.db import connection
        import requests
        def pay(url):
            with connection.cursor() as cursor:
                cursor.execute("SELECT 1")
                requests.post(url)
    """,
    "the admin's change views, not its actions": """
        from django.contrib import admin
        import requests
        @admin.register(object)
        class OrderAdmin(admin.ModelAdmin):
            actions = ["resend"]
            def save_model(self, request, obj, form, change):
                requests.post("https://bank.example")  #> CG201 requests.post
                super().save_model(request, obj, form, change)
            def delete_model(self, request, obj):
                requests.delete("https://bank.example")  #> CG201 requests.delete
            def save_related(self, request, form, formsets, change):
                requests.put("https://bank.example")  #> CG201 requests.put
            def resend(self, request, queryset):
                requests.post("https://bank.example")
            @admin.action(description="Check")
            def check(self, request, queryset):
                requests.post("https://bank.example")
            def delete_queryset(self, request, queryset):
                requests.post("https://bank.example")
            def get_queryset(self, request):
                requests.get("https://bank.example")
    """,
    "on_commit in all forms": """
        from functools import partial
        from django.db import transaction
        import requests
        @transaction.atomic
        def pay(url):
            transaction.on_commit(lambda: requests.post(url))
            transaction.on_commit(partial(requests.post, url))
            transaction.on_commit(requests.post, robust=True)
            @transaction.on_commit
            def later():
                requests.post(url)
    """,
}

SQLALCHEMY = {
    "session.begin": """
        import requests
        from sqlalchemy.orm import Session
        def pay(engine, url):
            with Session(engine) as session, session.begin():
                requests.post(url)  #> CG201 requests.post
    """,
    "session.begin in the session's block": """
        import requests
        from sqlalchemy.orm import Session
        def pay(session: Session, url):
            requests.get(url)
            with session.begin():
                requests.post(url)  #> CG201 requests.post
            requests.get(url)
    """,
    "begin_nested": """
        import requests
        from sqlalchemy.orm import Session
        def pay(session: Session, url):
            with session.begin_nested():
                requests.post(url)  #> CG201 requests.post
    """,
    "engine.begin": """
        import requests
        from sqlalchemy import create_engine
        engine = create_engine("postgresql://")
        def pay(url):
            with engine.begin() as connection:
                requests.post(url)  #> CG201 requests.post
    """,
    "connection.begin": """
        import requests
        from sqlalchemy import create_engine
        engine = create_engine("postgresql://")
        def pay(url):
            with engine.connect() as connection:
                requests.get(url)
                with connection.begin():
                    requests.post(url)  #> CG201 requests.post
                requests.get(url)
    """,
    "sessionmaker.begin": """
        import requests
        from sqlalchemy.orm import sessionmaker
        Session = sessionmaker()
        def pay(url):
            with Session.begin() as session:
                requests.post(url)  #> CG201 requests.post
    """,
    "a session that a sessionmaker made": """
        import requests
        from sqlalchemy.orm import sessionmaker
        Session = sessionmaker()
        def pay(url):
            with Session() as session:
                with session.begin():
                    requests.post(url)  #> CG201 requests.post
    """,
    "async session": """
        import httpx
        from sqlalchemy.ext.asyncio import AsyncSession
        async def pay(session: AsyncSession, client: httpx.AsyncClient):
            async with session.begin():
                await client.post("https://bank.example")  #> CG201 client.post
            await client.post("https://bank.example")
    """,
    "async engine": """
        import httpx
        from sqlalchemy.ext.asyncio import create_async_engine
        engine = create_async_engine("postgresql+asyncpg://")
        async def pay(client: httpx.AsyncClient):
            async with engine.begin() as connection:
                await client.post("https://bank.example")  #> CG201 client.post
    """,
    "async sessionmaker": """
        import httpx
        from sqlalchemy.ext.asyncio import async_sessionmaker
        maker = async_sessionmaker()
        async def pay(client: httpx.AsyncClient):
            async with maker.begin() as session:
                await client.post("https://bank.example")  #> CG201 client.post
            async with maker() as session:
                async with session.begin_nested():
                    await client.post("https://bank.example")  #> CG201 client.post
    """,
    "async connection": """
        import httpx
        from sqlalchemy.ext.asyncio import AsyncConnection
        async def pay(connection: AsyncConnection, client: httpx.AsyncClient):
            async with connection.begin():
                await client.post("https://bank.example")  #> CG201 client.post
    """,
    "scoped_session": """
        import requests
        from sqlalchemy.orm import scoped_session, sessionmaker
        session = scoped_session(sessionmaker())
        def pay(url):
            with session.begin():
                requests.post(url)  #> CG201 requests.post
            with session.begin_nested():
                requests.post(url)  #> CG201 requests.post
            local = session()
            with local.begin():
                requests.post(url)  #> CG201 requests.post
    """,
    "async_scoped_session": """
        import httpx
        from sqlalchemy.ext.asyncio import async_scoped_session, async_sessionmaker
        session = async_scoped_session(async_sessionmaker(), scopefunc=id)
        async def pay(client: httpx.AsyncClient):
            async with session.begin():
                await client.post("https://bank.example")  #> CG201 client.post
    """,
    "SQLModel": """
        import requests
        from sqlmodel import Session, create_engine
        engine = create_engine("postgresql://")
        def pay(url):
            with Session(engine) as session:
                requests.get(url)
                with session.begin():
                    requests.post(url)  #> CG201 requests.post
            with engine.begin():
                requests.post(url)  #> CG201 requests.post
    """,
    "SQLModel's async session": """
        import httpx
        from sqlmodel.ext.asyncio.session import AsyncSession
        async def pay(session: AsyncSession, client: httpx.AsyncClient):
            async with session.begin():
                await client.post("https://bank.example")  #> CG201 client.post
    """,
    "Flask-SQLAlchemy": """
        import requests
        from flask_sqlalchemy import SQLAlchemy
        db = SQLAlchemy()
        def pay(url):
            with db.session.begin():
                requests.post(url)  #> CG201 requests.post
            with db.session.begin_nested():
                requests.post(url)  #> CG201 requests.post
            with db.engine.begin():
                requests.post(url)  #> CG201 requests.post
    """,
    "begin and commit as calls": """
        import requests
        from sqlalchemy.orm import Session
        def pay(session: Session, url):
            session.begin()
            requests.post(url)  #> CG201 requests.post
            session.commit()
            requests.get(url)
    """,
    "the transaction object's commit": """
        import requests
        from sqlalchemy import Connection
        def pay(connection: Connection, url):
            held = connection.begin()
            try:
                requests.post(url)  #> CG201 requests.post
                held.commit()
            except Exception:
                held.rollback()
                requests.get(url)
                raise
            requests.get(url)
    """,
    "after_commit listeners run later": """
        import requests
        from sqlalchemy import event
        from sqlalchemy.orm import Session
        def pay(session: Session, url):
            with session.begin():
                @event.listens_for(session, "after_commit")
                def told(session):
                    requests.post(url)
                event.listen(session, "after_commit", lambda session: requests.post(url))
    """,
}

DRIVERS = {
    "oslo.db: decorators, blocks and makers of an enginefacade": """
        from oslo_db.sqlalchemy import enginefacade
        import requests
        manager = enginefacade.transaction_context()
        @enginefacade.writer
        def write(context, url):
            requests.post(url)  #> CG201 requests.post
        @manager.writer.savepoint
        def save(context, url):
            requests.post(url)  #> CG201 requests.post
        def use(context, url):
            with manager.reader.using(context) as session:
                requests.post(url)  #> CG201 requests.post
            requests.post(url)
        def made(url):
            with manager.writer.get_engine().begin() as connection:
                requests.post(url)  #> CG201 requests.post
            session = manager.writer.get_sessionmaker()()
            with session.begin():
                requests.post(url)  #> CG201 requests.post
    """,
    "adbapi: what a connection pool of Twisted runs": """
        from twisted.enterprise import adbapi
        import requests
        class Store:
            def __init__(self, pool: adbapi.ConnectionPool):
                self.pool = pool
            def pay(self, url):
                return self.pool.runInteraction(self._pay, url)  #> CG201 self.pool.runInteraction
            def _pay(self, transaction, url):
                requests.post(url)
            def look(self, url):
                def query(connection):
                    requests.post(url)
                return self.pool.runWithConnection(query)  #> CG201 self.pool.runWithConnection
            def ask(self, sql):
                return self.pool.runQuery(sql)
    """,
    "psycopg": """
        import psycopg
        import requests
        def pay(url):
            with psycopg.connect("") as connection:
                requests.post(url)  #> CG201 requests.post
            connection = psycopg.connect("", autocommit=True)
            requests.get(url)
            with connection.transaction():
                requests.post(url)  #> CG201 requests.post
            requests.get(url)
    """,
    "psycopg, told to begin nothing": """
        import psycopg
        import psycopg2
        import requests
        def pay(url):
            with psycopg.connect("") as connection:
                connection.autocommit = True
                requests.post(url)
        def pay_too(url):
            with psycopg.connect("", autocommit=True) as connection:
                requests.post(url)
        def pay_also(url):
            connection = psycopg2.connect("")
            connection.autocommit = True
            with connection:  # begins one all the same (psycopg2 2.9)
                requests.post(url)  #> CG201 requests.post
        def pay_later(dsn, url):
            connection = psycopg.connect("")
            connection.autocommit = True
            connection.execute("CREATE DATABASE shop")
            connection = psycopg.connect(dsn)
            with connection:
                requests.post(url)  #> CG201 requests.post
        def pay_switched(url):
            with psycopg.connect("") as connection:
                connection.autocommit = True
                connection.execute("VACUUM")
                connection.autocommit = False
                requests.post(url)  #> CG201 requests.post
        def pay_twice(url):
            with psycopg.connect("") as connection, psycopg.connect("") as other:
                other.autocommit = True
                requests.post(url)  #> CG201 requests.post
        def pay_back(url):
            with psycopg.connect("") as connection:
                connection.autocommit = False
                requests.post(url)  #> CG201 requests.post
    """,
    "psycopg, async": """
        import httpx
        import psycopg
        async def pay(client: httpx.AsyncClient):
            async with await psycopg.AsyncConnection.connect("", autocommit=True) as connection:
                async with connection.transaction():
                    await client.get("https://bank.example")  #> CG201 client.get
    """,
    "psycopg's pool": """
        import requests
        from psycopg_pool import ConnectionPool
        pool = ConnectionPool("")
        def pay(url):
            with pool.connection() as connection:
                requests.post(url)  #> CG201 requests.post
            requests.get(url)
    """,
    "psycopg2": """
        import psycopg2
        import requests
        def pay(url):
            connection = psycopg2.connect("")
            requests.get(url)
            with connection:
                with connection.cursor() as cursor:
                    requests.post(url)  #> CG201 requests.post
            requests.get(url)
    """,
    "asyncpg": """
        import asyncpg
        import httpx
        async def pay(client: httpx.AsyncClient):
            connection = await asyncpg.connect("")
            await client.get("https://bank.example")
            async with connection.transaction(isolation="serializable"):
                await client.post("https://bank.example")  #> CG201 client.post
            await client.get("https://bank.example")
    """,
    "asyncpg's pool": """
        import asyncpg
        import httpx
        async def pay(pool: asyncpg.Pool, client: httpx.AsyncClient):
            async with pool.acquire() as connection:
                await client.get("https://bank.example")
                async with connection.transaction():
                    await client.post("https://bank.example")  #> CG201 client.post
    """,
    "asyncpg by calls": """
        import asyncpg
        import httpx
        async def pay(client: httpx.AsyncClient, connection: asyncpg.Connection):
            held = connection.transaction()
            await client.get("https://bank.example")
            await held.start()
            try:
                await client.post("https://bank.example")  #> CG201 client.post
            except Exception:
                await held.rollback()
                await client.get("https://bank.example")
                raise
            else:
                await held.commit()
            await client.get("https://bank.example")
    """,
    "aiopg": """
        import aiopg
        import httpx
        async def pay(client: httpx.AsyncClient):
            async with aiopg.create_pool("") as pool:
                async with pool.acquire() as connection:
                    async with connection.cursor() as cursor:
                        await client.get("https://bank.example")
                        async with cursor.begin():
                            await client.post("https://bank.example")  #> CG201 client.post
    """,
    "aiopg by calls": """
        import aiopg
        import httpx
        async def pay(client: httpx.AsyncClient, cursor):
            held = aiopg.Transaction(cursor, aiopg.IsolationLevel.serializable)
            await held.begin()
            await client.post("https://bank.example")  #> CG201 client.post
            await held.commit()
            await client.get("https://bank.example")
    """,
    "sqlite3": """
        import sqlite3
        import requests
        def pay(url):
            connection = sqlite3.connect("shop.db")
            requests.get(url)
            with connection:
                requests.post(url)  #> CG201 requests.post
            requests.get(url)
    """,
    "sqlite3 by statements": """
        import sqlite3
        import requests
        def pay(url):
            connection = sqlite3.connect("shop.db", isolation_level=None)
            connection.execute("BEGIN IMMEDIATE")
            try:
                requests.post(url)  #> CG201 requests.post
            except Exception:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")
            requests.get(url)
    """,
    "peewee": """
        import peewee
        import requests
        db = peewee.SqliteDatabase("shop.db")
        def pay(url):
            with db.atomic():
                requests.post(url)  #> CG201 requests.post
            with db.transaction() as held:
                requests.post(url)  #> CG201 requests.post
            requests.get(url)
        @db.atomic()
        def refund(url):
            requests.post(url)  #> CG201 requests.post
    """,
    "pony": """
        import requests
        from pony.orm import db_session
        def pay(url):
            with db_session:
                requests.post(url)  #> CG201 requests.post
            requests.get(url)
        @db_session
        def refund(url):
            requests.post(url)  #> CG201 requests.post
        @db_session(retry=3)
        def cancel(url):
            requests.post(url)  #> CG201 requests.post
    """,
    "tortoise": """
        import httpx
        from tortoise.transactions import atomic, in_transaction
        async def pay(client: httpx.AsyncClient):
            async with in_transaction() as connection:
                await client.post("https://bank.example")  #> CG201 client.post
            await client.get("https://bank.example")
        @atomic()
        async def refund(client: httpx.AsyncClient):
            await client.post("https://bank.example")  #> CG201 client.post
        @atomic("shop")
        async def cancel(client: httpx.AsyncClient):
            await client.post("https://bank.example")  #> CG201 client.post
    """,
    "piccolo": """
        import httpx
        from piccolo.engine.postgres import PostgresEngine
        DB = PostgresEngine(config={})
        async def pay(client: httpx.AsyncClient):
            async with DB.transaction():
                await client.post("https://bank.example")  #> CG201 client.post
            await client.get("https://bank.example")
    """,
    "databases": """
        import databases
        import httpx
        database = databases.Database("postgresql://")
        async def pay(client: httpx.AsyncClient):
            async with database.transaction():
                await client.post("https://bank.example")  #> CG201 client.post
            await client.get("https://bank.example")
            held = await database.transaction()
            await client.post("https://bank.example")  #> CG201 client.post
            await held.commit()
            await client.get("https://bank.example")
        @database.transaction()
        async def refund(client: httpx.AsyncClient):
            await client.post("https://bank.example")  #> CG201 client.post
    """,
    "pymongo": """
        import pymongo
        import requests
        client = pymongo.MongoClient()
        def pay(url):
            with client.start_session() as session:
                requests.get(url)
                with session.start_transaction():
                    requests.post(url)  #> CG201 requests.post
                session.start_transaction()
                requests.post(url)  #> CG201 requests.post
                session.commit_transaction()
                requests.get(url)
                session.with_transaction(lambda held: requests.post(url))  #> CG201 session.with_transaction
    """,
    "motor": """
        import httpx
        from motor.motor_asyncio import AsyncIOMotorClient
        mongo = AsyncIOMotorClient()
        async def pay(client: httpx.AsyncClient):
            async with await mongo.start_session() as session:
                await client.get("https://bank.example")
                async with session.start_transaction():
                    await client.post("https://bank.example")  #> CG201 client.post
    """,
    "zope": """
        import requests
        import transaction
        def pay(url):
            with transaction.manager:
                requests.post(url)  #> CG201 requests.post
            requests.get(url)
        def refund(url):
            transaction.begin()
            requests.post(url)  #> CG201 requests.post
            transaction.commit()
            requests.get(url)
    """,
    "zope, explicit manager": """
        import requests
        from transaction import TransactionManager
        def pay(url):
            manager = TransactionManager(explicit=True)
            with manager as held:
                requests.post(url)  #> CG201 requests.post
    """,
    "DBOS": """
        import requests
        from dbos import DBOS, SQLAlchemyDatasource
        shop = SQLAlchemyDatasource("postgresql://")
        @shop.transaction()
        def pay(url):
            requests.post(url)  #> CG201 requests.post
        @DBOS.transaction()
        def refund(url):
            requests.post(url)  #> CG201 requests.post
        @DBOS.step()
        def step(url):
            requests.post(url)
    """,
}

WRAPPERS = {
    "context manager function": """
        from contextlib import contextmanager
        from django.db import transaction
        import requests
        @contextmanager
        def unit_of_work():
            requests.get("https://bank.example")
            with transaction.atomic():
                yield
        def pay(url):
            with unit_of_work():
                requests.post(url)  #> CG201 requests.post
            requests.get(url)
    """,
    "context manager in another file, through a re-export": """
        == shop/__init__.py
        == shop/db/__init__.py
        from .work import unit_of_work as work
        == shop/db/work.py
        from contextlib import contextmanager
        from django.db import transaction
        @contextmanager
        def unit_of_work():
            with transaction.atomic():
                yield
        == shop/pay.py
        import requests
        from shop.db import work
        def pay(url):
            with work():
                requests.post(url)  #> CG201 requests.post
    """,
    "async context manager with try and finally": """
        from contextlib import asynccontextmanager
        import httpx
        from sqlalchemy.ext.asyncio import async_sessionmaker
        maker = async_sessionmaker()
        @asynccontextmanager
        async def unit():
            async with maker() as session:
                await session.begin()
                try:
                    yield session
                    await session.commit()
                except Exception:
                    await session.rollback()
                    raise
        async def pay(client: httpx.AsyncClient):
            async with unit() as session:
                await client.post("https://bank.example")  #> CG201 client.post
            await client.get("https://bank.example")
    """,
    "wrapper of a wrapper": """
        from contextlib import contextmanager
        from django.db import transaction
        import requests
        @contextmanager
        def inner():
            with transaction.atomic():
                yield
        @contextmanager
        def outer():
            with inner() as held:
                yield held
        def pay(url):
            with outer():
                requests.post(url)  #> CG201 requests.post
    """,
    "a function that returns a block": """
        from django.db import transaction
        import requests
        def block():
            return transaction.atomic(using="shop")
        def pay(url):
            with block():
                requests.post(url)  #> CG201 requests.post
    """,
    "class with __enter__": """
        from django.db import transaction
        import requests
        class Unit:
            def __enter__(self):
                self.held = transaction.atomic()
                self.held.__enter__()
                return self
            def __exit__(self, *error):
                self.held.__exit__(*error)
        def pay(url):
            with Unit():
                requests.post(url)  #> CG201 requests.post
            requests.get(url)
    """,
    "class with __enter__ that begins by a statement": """
        import sqlite3
        import requests
        class Unit:
            def __init__(self, path):
                self.connection = sqlite3.connect(path)
            def __enter__(self):
                self.connection.execute("BEGIN IMMEDIATE")
                return self.connection
            def __exit__(self, *error):
                self.connection.execute("COMMIT")
        def pay(url):
            with Unit("shop.db") as connection:
                requests.post(url)  #> CG201 requests.post
    """,
    "class with __aenter__": """
        import httpx
        from sqlalchemy.ext.asyncio import AsyncSession
        class Unit:
            def __init__(self, session: AsyncSession):
                self.session = session
            async def __aenter__(self):
                self.held = self.session.begin()
                await self.held.__aenter__()
            async def __aexit__(self, *error):
                await self.held.__aexit__(*error)
        async def pay(session: AsyncSession, client: httpx.AsyncClient):
            async with Unit(session):
                await client.post("https://bank.example")  #> CG201 client.post
    """,
    "class whose __enter__ calls a helper": """
        from django.db import transaction
        import requests
        class Unit:
            def __enter__(self):
                self._open()
            def _open(self):
                transaction.set_autocommit(False)
            def __exit__(self, *error):
                transaction.set_autocommit(True)
        def pay(url):
            with Unit():
                requests.post(url)  #> CG201 requests.post
    """,
    "class that derives from a block": """
        from django.db.transaction import Atomic
        import requests
        class Mine(Atomic):
            pass
        def pay(url):
            with Mine(None, True, False):
                requests.post(url)  #> CG201 requests.post
    """,
    "decorator without arguments": """
        import functools
        from django.db import transaction
        import requests
        def transactional(function):
            @functools.wraps(function)
            def wrapper(*args, **kwargs):
                with transaction.atomic():
                    return function(*args, **kwargs)
            return wrapper
        @transactional
        def pay(url):
            requests.post(url)  #> CG201 requests.post
    """,
    "decorator with arguments": """
        import functools
        from django.db import transaction
        import requests
        def transactional(using="default"):
            def decorate(function):
                @functools.wraps(function)
                def wrapper(*args, **kwargs):
                    with transaction.atomic(using=using):
                        return function(*args, **kwargs)
                return wrapper
            return decorate
        @transactional(using="shop")
        def pay(url):
            requests.post(url)  #> CG201 requests.post
    """,
    "decorator of both forms": """
        import functools
        from django.db import transaction
        import requests
        def transactional(function=None, *, using="default"):
            if function is None:
                return functools.partial(transactional, using=using)
            @functools.wraps(function)
            def wrapper(*args, **kwargs):
                with transaction.atomic(using=using):
                    return function(*args, **kwargs)
            return wrapper
        @transactional
        def pay(url):
            requests.post(url)  #> CG201 requests.post
        @transactional(using="shop")
        def refund(url):
            requests.post(url)  #> CG201 requests.post
    """,
    "async decorator in another file": """
        == db.py
        from functools import wraps
        from sqlalchemy.ext.asyncio import async_sessionmaker
        maker = async_sessionmaker()
        def in_transaction(function):
            @wraps(function)
            async def wrapper(*args, **kwargs):
                async with maker.begin() as session:
                    return await function(session, *args, **kwargs)
            return wrapper
        == pay.py
        import httpx
        from db import in_transaction
        @in_transaction
        async def pay(session, client: httpx.AsyncClient):
            await client.post("https://bank.example")  #> CG201 client.post
    """,
    "a decorator that calls its function after the block": """
        import functools
        from django.db import transaction
        import requests
        def counted(function):
            @functools.wraps(function)
            def wrapper(*args, **kwargs):
                with transaction.atomic():
                    count()
                return function(*args, **kwargs)
            return wrapper
        def count():
            pass
        @counted
        def pay(url):
            requests.post(url)
    """,
    "ExitStack": """
        from contextlib import ExitStack
        from django.db import transaction
        import requests
        def pay(url):
            with ExitStack() as stack:
                requests.get(url)
                stack.enter_context(transaction.atomic())
                requests.post(url)  #> CG201 requests.post
            requests.get(url)
    """,
    "AsyncExitStack with a project's wrapper": """
        from contextlib import AsyncExitStack, asynccontextmanager
        import httpx
        from sqlalchemy.ext.asyncio import async_sessionmaker
        maker = async_sessionmaker()
        @asynccontextmanager
        async def unit():
            async with maker.begin() as session:
                yield session
        async def pay(client: httpx.AsyncClient):
            async with AsyncExitStack() as stack:
                session = await stack.enter_async_context(unit())
                await client.post("https://bank.example")  #> CG201 client.post
            await client.get("https://bank.example")
    """,
    "FastAPI dependency as a default": """
        import httpx
        from fastapi import Depends, FastAPI
        from sqlalchemy.ext.asyncio import async_sessionmaker
        app = FastAPI()
        maker = async_sessionmaker()
        async def session():
            async with maker.begin() as held:
                yield held
        @app.post("/pay")
        async def pay(client: httpx.AsyncClient, session=Depends(session)):
            await client.post("https://bank.example")  #> CG201 client.post
        @app.post("/look")
        async def look(client: httpx.AsyncClient):
            await client.post("https://bank.example")
    """,
    "FastAPI dependency in an annotation": """
        from typing import Annotated
        import httpx
        from fastapi import Depends, FastAPI
        from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker
        app = FastAPI()
        maker = async_sessionmaker()
        async def session():
            async with maker() as held:
                async with held.begin():
                    yield held
        @app.post("/pay")
        async def pay(client: httpx.AsyncClient, session: Annotated[AsyncSession, Depends(session)]):
            await client.post("https://bank.example")  #> CG201 client.post
    """,
    "FastAPI dependency behind an alias, in another file": """
        == deps.py
        from typing import Annotated
        from fastapi import Depends
        from sqlalchemy.orm import Session, sessionmaker
        maker = sessionmaker()
        def get_session():
            with maker.begin() as held:
                yield held
        SessionDep = Annotated[Session, Depends(get_session)]
        == pay.py
        import requests
        from fastapi import FastAPI
        from deps import SessionDep
        app = FastAPI()
        @app.post("/pay")
        def pay(session: SessionDep):
            requests.post("https://bank.example")  #> CG201 requests.post
    """,
    "FastAPI dependency of a dependency": """
        import requests
        from fastapi import Depends, FastAPI
        from sqlalchemy.orm import sessionmaker
        app = FastAPI()
        maker = sessionmaker()
        def get_session():
            with maker.begin() as held:
                yield held
        def get_shop(session=Depends(get_session)):
            return session
        @app.post("/pay")
        def pay(shop=Depends(get_shop)):
            requests.post("https://bank.example")  #> CG201 requests.post
    """,
    "FastAPI dependency that only hands a session out": """
        import requests
        from fastapi import Depends, FastAPI
        from sqlalchemy.orm import sessionmaker
        app = FastAPI()
        maker = sessionmaker()
        def get_session():
            with maker() as held:
                yield held
        @app.post("/pay")
        def pay(session=Depends(get_session)):
            requests.post("https://bank.example")
    """,
}

STRETCHES = {
    "return in try, commit in finally": """
        import sqlite3
        import requests
        def pay(url):
            connection = sqlite3.connect("shop.db", isolation_level=None)
            connection.execute("BEGIN")
            try:
                if url:
                    return requests.post(url)  #> CG201 requests.post
                requests.put(url)  #> CG201 requests.put
            finally:
                connection.execute("COMMIT")
            requests.get(url)
    """,
    "commit in one branch": """
        import requests
        from sqlalchemy.orm import Session
        def pay(session: Session, url):
            session.begin()
            if url:
                session.commit()
                requests.get(url)
            else:
                requests.post(url)  #> CG201 requests.post
            requests.put(url)  #> CG201 requests.put
    """,
    "commit in both branches": """
        import requests
        from sqlalchemy.orm import Session
        def pay(session: Session, url):
            session.begin()
            if url:
                session.commit()
            else:
                session.rollback()
            requests.put(url)
    """,
    "a branch that leaves": """
        import requests
        from sqlalchemy.orm import Session
        def pay(session: Session, url):
            session.begin()
            if not url:
                session.rollback()
                return requests.get(url)
            requests.post(url)  #> CG201 requests.post
            session.commit()
            return requests.get(url)
    """,
    "rollback in except": """
        import requests
        from sqlalchemy.orm import Session
        def pay(session: Session, url):
            session.begin()
            try:
                requests.post(url)  #> CG201 requests.post
                session.commit()
            except ValueError:
                session.rollback()
                requests.get(url)
            except KeyError:
                requests.delete(url)  #> CG201 requests.delete
                session.rollback()
            requests.get(url)
    """,
    "in a loop": """
        import requests
        from sqlalchemy.orm import Session
        def pay(session: Session, urls):
            for url in urls:
                requests.get(url)
                session.begin()
                requests.post(url)  #> CG201 requests.post
                session.commit()
                requests.get(url)
    """,
    "open into the next pass of a loop": """
        import requests
        from sqlalchemy.orm import Session
        def pay(session: Session, urls):
            for url in urls:
                requests.get(url)  #> CG201 requests.get
                session.begin()
            session.commit()
            requests.put(url)
    """,
    "continue after a commit": """
        import requests
        from sqlalchemy.orm import Session
        def pay(session: Session, urls):
            for url in urls:
                session.begin()
                if url:
                    session.commit()
                    continue
                requests.post(url)  #> CG201 requests.post
                session.rollback()
            requests.get(url)
    """,
    "break while open": """
        import requests
        from sqlalchemy.orm import Session
        def pay(session: Session, urls):
            for url in urls:
                session.begin()
                if url:
                    break
                session.rollback()
            requests.get(url)  #> CG201 requests.get
    """,
    "a while loop until committed": """
        import requests
        from sqlalchemy.orm import Session
        def pay(session: Session, url):
            session.begin()
            while True:
                try:
                    session.commit()
                    break
                except ValueError:
                    requests.post(url)  #> CG201 requests.post
            requests.get(url)
    """,
    "text()": """
        import requests
        from sqlalchemy import Connection, text
        def pay(connection: Connection, url):
            connection.execute(text("BEGIN"))
            requests.post(url)  #> CG201 requests.post
            connection.execute(text("COMMIT"))
            requests.get(url)
    """,
    "other SQL that ends a transaction": """
        import sqlite3
        import requests
        def pay(url):
            connection = sqlite3.connect("shop.db", isolation_level=None)
            connection.execute("begin immediate transaction;")
            requests.post(url)  #> CG201 requests.post
            connection.execute("end transaction")
            requests.get(url)
            connection.execute("BEGIN")
            connection.rollback()
            requests.get(url)
    """,
    "a savepoint's release does not end the transaction": """
        import sqlite3
        import requests
        def pay(url):
            connection = sqlite3.connect("shop.db", isolation_level=None)
            connection.execute("BEGIN")
            connection.execute("SAVEPOINT inner")
            connection.execute("ROLLBACK TO inner")
            requests.post(url)  #> CG201 requests.post
            connection.execute("COMMIT")
    """,
}

FALSE_FRIENDS = {
    "tracing": """
        import elasticapm
        import requests
        import sentry_sdk
        def pay(url, client: elasticapm.Client):
            with sentry_sdk.start_transaction(op="task", name="pay") as transaction:
                requests.post(url)
                with transaction.start_child(op="http"):
                    requests.post(url)
            client.begin_transaction("request")
            requests.post(url)
            client.end_transaction("pay")
    """,
    "redis pipelines": """
        import redis
        import requests
        cache = redis.Redis()
        def pay(url):
            with cache.pipeline(transaction=True) as pipe:
                requests.post(url)
                pipe.execute()
            cache.transaction(lambda pipe: requests.post(url), "key")
    """,
    "a file lock": """
        import requests
        class FileLock:
            def __enter__(self):
                return self
            def __exit__(self, *error):
                pass
            def transaction(self):
                return self
        lock = FileLock()
        def pay(url, db: FileLock):
            with lock.transaction():
                requests.post(url)
            with db.transaction():
                requests.post(url)
    """,
    "a project's own begin": """
        import requests
        class Game:
            def begin(self):
                pass
            def commit(self):
                pass
        def pay(url, session: Game):
            session.begin()
            requests.post(url)
            session.commit()
    """,
    "a block that ends before it yields": """
        from contextlib import contextmanager
        from django.db import transaction
        import requests
        @contextmanager
        def claimed():
            with transaction.atomic():
                pass
            yield
        def pay(url):
            with claimed():
                requests.post(url)
    """,
    "else and finally outside the block": """
        from django.db import transaction
        import requests
        def pay(url):
            try:
                with transaction.atomic():
                    pass
            except ValueError:
                requests.post(url)
            else:
                requests.post(url)
            finally:
                requests.post(url)
    """,
    "atomic of another library": """
        import requests
        from atomicwrites import atomic_write
        from ops import atomic
        def pay(url):
            with atomic_write("file") as file:
                requests.post(url)
            with atomic():
                requests.post(url)
    """,
    "a connection that only closes": """
        import aiosqlite
        import httpx
        import pymysql
        import requests
        async def pay(client: httpx.AsyncClient):
            async with aiosqlite.connect("shop.db") as connection:
                await client.post("https://bank.example")
        def refund(url):
            with pymysql.connect() as connection:
                requests.post(url)
    """,
    "a session that only closes": """
        import requests
        from sqlalchemy.orm import Session
        def pay(engine, url):
            with Session(engine) as session:
                requests.post(url)
    """,
}

VIEWS = """
        == shop/__init__.py
        == shop/views.py
        import requests
        from django.db import transaction
        from django.utils.decorators import method_decorator
        from django.views import View
        from django.views.decorators.csrf import csrf_exempt
        def pay(request):
            requests.post("https://bank.example")  {mark}
        def wrapped(request):
            requests.post("https://bank.example")  {mark}
        def helper(request):
            requests.post("https://bank.example")
        @transaction.non_atomic_requests
        def look(request):
            requests.post("https://bank.example")
        async def later(request):
            requests.post("https://bank.example")
        class Pay(View):
            def post(self, request):
                requests.post("https://bank.example")  {mark}
        @method_decorator(transaction.non_atomic_requests, name="dispatch")
        class Look(View):
            def get(self, request):
                requests.post("https://bank.example")
        == shop/urls.py
        from django.urls import path
        from django.views.decorators.csrf import csrf_exempt
        from shop import views
        urlpatterns = [
            path("pay", views.pay),
            path("wrapped", view=csrf_exempt(views.wrapped)),
            path("look", views.look),
            path("later", views.later),
            path("Pay", views.Pay.as_view()),
            path("Look", views.Look.as_view()),
        ]
        == shop/settings.py
"""
SETTINGS = {
    'DATABASES = {"default": {"ENGINE": "postgresql", "ATOMIC_REQUESTS": True}}': True,
    'DATABASES = {"default": dict(ENGINE="postgresql", ATOMIC_REQUESTS=True)}': True,
    'DATABASES = {"default": {}}; DATABASES["default"]["ATOMIC_REQUESTS"] = True': True,
    'DATABASES = {"default": {}}; DATABASES["default"].update(ATOMIC_REQUESTS=True)': True,
    'DATABASES = {"default": {"ATOMIC_REQUESTS": False}}': False,
    "DATABASES = {}; ATOMIC_REQUESTS = True": False,
}

REQUESTS = {
    setting: VIEWS.replace("{mark}", "#> CG201 requests.post" if on else "") + f"        {setting}\n"
    for setting, on in SETTINGS.items()
} | {
    "pyramid_tm": """
        import requests
        from pyramid.config import Configurator
        from pyramid.view import view_config
        @view_config(route_name="pay")
        def pay(request):
            requests.post("https://bank.example")  #> CG201 requests.post
        def routed(request):
            requests.post("https://bank.example")  #> CG201 requests.post
        def main(settings):
            config = Configurator(settings=settings)
            config.include("pyramid_tm")
            config.add_view(routed, route_name="routed")
    """,
    "pyramid without it": """
        import requests
        from pyramid.config import Configurator
        from pyramid.view import view_config
        @view_config(route_name="pay")
        def pay(request):
            requests.post("https://bank.example")
        def main(settings):
            config = Configurator(settings=settings)
            config.include("pyramid_mako")
    """,
    "a storage on the network": """
        == settings.py
        STORAGES = {"default": {"BACKEND": "storages.backends.s3.S3Storage"}}
        == files.py
        from django.core.files.storage import default_storage
        from django.db import transaction
        @transaction.atomic
        def keep(file):
            default_storage.save("file", file)  #> CG201 default_storage.save
    """,
    "a storage of the project's own on the network": """
        == shop/__init__.py
        == shop/storages.py
        from storages.backends.s3 import S3Storage
        class MediaStorage(S3Storage):
            bucket_name = "media"
        == settings.py
        STORAGES = {"default": {"BACKEND": "django.core.files.storage.FileSystemStorage"}}
        STORAGES["default"]["BACKEND"] = "shop.storages.MediaStorage"
        == files.py
        from django.core.files.storage import default_storage
        from django.db import transaction
        @transaction.atomic
        def keep(file):
            default_storage.save("file", file)  #> CG201 default_storage.save
    """,
    "only another storage is on the network": """
        == settings.py
        STORAGES = {
            "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
            "archive": {"BACKEND": "storages.backends.s3.S3Storage"},
        }
        == files.py
        from django.core.files.storage import default_storage
        from django.db import transaction
        @transaction.atomic
        def keep(file):
            default_storage.save("file", file)
    """,
    "a storage on the disk": """
        == settings.py
        STORAGES = {"default": {"BACKEND": "django.core.files.storage.FileSystemStorage"}}
        == files.py
        from django.core.files.storage import default_storage
        from django.db import transaction
        @transaction.atomic
        def keep(file):
            default_storage.save("file", file)
    """,
}

CASES = {
    f"{group}: {name}": code
    for group, cases in {
        "Django": DJANGO,
        "SQLAlchemy": SQLALCHEMY,
        "driver": DRIVERS,
        "wrapper": WRAPPERS,
        "stretch": STRETCHES,
        "request": REQUESTS,
        "false friend": FALSE_FRIENDS,
    }.items()
    for name, code in cases.items()
}


@pytest.mark.parametrize("code", CASES.values(), ids=CASES.keys())
def test_blocks(code: str, tmp_path: Path) -> None:
    verify(tmp_path, code)


def test_handlers_of_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "concurrency-gate.toml").write_text(
        'transactional = ["acme.jobs.Handler.run"]\ndetached = ["acme.jobs.Detached"]\n'
    )
    verify(
        tmp_path,
        """
        == acme/__init__.py
        == acme/jobs.py
        class Handler:
            def run(self):
                raise NotImplementedError
        class Detached:
            pass
        == acme/mail.py
        import requests
        from acme.jobs import Detached, Handler
        class Told(Handler):
            def run(self):
                requests.post("https://mail.example")  #> CG201 requests.post
            def other(self):
                requests.post("https://mail.example")
        class Below(Told):
            def run(self):
                requests.post("https://mail.example")  #> CG201 requests.post
        class Own(Handler, Detached):
            def run(self):
                requests.post("https://mail.example")
        """,
    )


def test_the_message_names_opener_line_and_way(tmp_path: Path) -> None:
    texts = files(
        """
        import requests
        from django.db import transaction
        class Gateway:
            def capture(self):
                requests.post("https://bank.example")
        def charge(gateway: Gateway):
            gateway.capture()
        def pay():
            with transaction.atomic():
                charge(Gateway())
        """
    )
    (finding,) = check(tmp_path, texts).findings
    assert finding.message == (
        "requests.post reaches the network inside transaction.atomic (line 9), "
        "through charge() -> Gateway.capture()"
    )


def test_a_name_may_end_in_a_letter_of_any_alphabet(tmp_path: Path) -> None:
    verify(
        tmp_path,
        """
        == concurrency-gate.toml
        [catalogue]
        blocks = ["acme.Bank.zahlé"]
        == main.py
        import requests
        from acme import Bank
        def pay(bank: Bank):
            with bank.zahlé():
                requests.post("https://bank.example")  #> CG201 requests.post
        """,
    )
