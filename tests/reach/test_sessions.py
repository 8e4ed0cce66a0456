"""Transactions that begin by themselves: what runs between the first statement and the commit."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.facts.marked import verify

CASES = {
    "a query that is handed on, of a session that a provider keeps": """
        from shop.provider import Provider
        import requests
        async def reset(url, User, provider: Provider):
            query = provider.session.query(User).filter_by(name="x")
            user = await provider.run(query.one)
            requests.post(url)  #> CG204 requests.post
        == shop/__init__.py
        == shop/provider.py
        import sqlalchemy.orm as saorm
        from asgiref.sync import sync_to_async
        class Provider:
            def __init__(self, bind):
                self.session = self._get_session(bind)
            def _get_session(self, bind):
                return saorm.Session(bind=bind)
            def commit_close(self):
                self.session.commit()
            @sync_to_async
            def run(self, target):
                return target()
    """,
    "Flask-SQLAlchemy, the query of a model": """
        from shop.models import User, db
        import requests
        def reset(url, name):
            user = User.query.filter_by(name=name).first_or_404()
            requests.post(url)  #> CG204 requests.post
            db.session.commit()
            requests.post(url)
        def build(url, name):
            query = User.query.filter_by(name=name)
            requests.post(url)
            return query
        == shop/__init__.py
        == shop/models.py
        from flask_sqlalchemy import SQLAlchemy
        db = SQLAlchemy()
        class User(db.Model):
            name = db.Column(db.String)
    """,
    "sqlite3, a write": """
        import sqlite3
        import requests
        def pay(url):
            connection = sqlite3.connect("shop.db")
            connection.execute("SELECT 1")
            requests.get(url)
            connection.execute("UPDATE orders SET paid = 1")
            requests.post(url)  #> CG204 requests.post
            connection.commit()
            requests.get(url)
    """,
    "sqlite3, switched off": """
        import sqlite3
        import requests
        def pay(url):
            connection = sqlite3.connect("shop.db", isolation_level=None)
            connection.execute("UPDATE orders SET paid = 1")
            requests.post(url)
    """,
    "a connection that comes from elsewhere may be switched off": """
        import sqlite3
        import requests
        def pay(url, connection: sqlite3.Connection):
            connection.execute("UPDATE orders SET paid = 1")
            requests.post(url)
    """,
    "psycopg2, through a cursor": """
        import psycopg2
        import requests
        def pay(url):
            connection = psycopg2.connect("")
            cursor = connection.cursor()
            cursor.execute("SELECT 1")
            requests.post(url)  #> CG204 requests.post
            connection.rollback()
            requests.post(url)
    """,
    "psycopg2, autocommit set on the connection": """
        import psycopg2
        import requests
        def pay(url):
            connection = psycopg2.connect("")
            connection.autocommit = True
            connection.cursor().execute("SELECT 1")
            requests.post(url)
    """,
    "a session, through a helper": """
        import requests
        from sqlalchemy.orm import Session
        def pay(session: Session, order):
            session.get(order, 1)
            charge()  #> CG204 charge
            session.commit()
            charge()
        def charge():
            requests.post("https://bank.example")
    """,
    "leaving the block of the session": """
        import requests
        from sqlalchemy.orm import Session
        def pay(engine, order):
            with Session(engine) as session:
                session.get(order, 1)
            requests.post("https://bank.example")
    """,
    "open into the next pass of a loop": """
        import sqlite3
        import requests
        def pay(urls):
            connection = sqlite3.connect("shop.db")
            for url in urls:
                requests.post(url)  #> CG204 requests.post
                connection.execute("UPDATE orders SET paid = 1")
            connection.commit()
    """,
    "what a block holds is told once": """
        import requests
        from sqlalchemy.orm import Session
        def pay(session: Session, order):
            with session.begin():
                session.get(order, 1)
                requests.post("https://bank.example")  #> CG201 requests.post
    """,
    "a session whose class nobody names": """
        import requests
        from flask_sqlalchemy import SQLAlchemy
        from sqlalchemy import create_engine, text
        from sqlalchemy.orm import sessionmaker
        maker = sessionmaker(create_engine("postgresql://x"))
        db = SQLAlchemy()
        def of_a_maker():
            with maker() as session:
                session.execute(text("select 1"))
                requests.get("https://x", timeout=1)  #> CG204 requests.get
        def of_an_extension():
            db.session.execute(text("select 1"))
            requests.get("https://x", timeout=1)  #> CG204 requests.get
    """,
    "a row that is read after the commit": """
        import requests
        from sqlalchemy import select
        from sqlalchemy.orm import DeclarativeBase, Session
        class Base(DeclarativeBase): ...
        class User(Base):
            __tablename__ = "user"
            def greet(self): ...
        def register(session: Session, user: User):
            session.add(user)
            session.commit()
            requests.get(user.name, timeout=1)  #> CG204 requests.get
        def told(session: Session):
            user = session.get(User, 1)
            session.commit()
            requests.get("https://x", timeout=1)
            user.seen = True
            user.greet()
            requests.get("https://x", timeout=1)
            name = user.name
            requests.get(name, timeout=1)  #> CG204 requests.get
            session.rollback()
            requests.get(name, timeout=1)
        def loaded(session: Session):
            for user in session.scalars(select(User)):
                name = user.name
                session.commit()
                requests.get(name, timeout=1)
        def found(session: Session, other: User):
            user = session.query(User).filter_by(name="x").one()
            session.commit()
            print(other.name)
            requests.get("https://x", timeout=1)
            print(user.name)
            requests.get("https://x", timeout=1)  #> CG204 requests.get
    """,
    "a row that stays loaded": """
        import requests
        from sqlalchemy import create_engine
        from sqlalchemy.orm import DeclarativeBase, Session, sessionmaker
        class Base(DeclarativeBase): ...
        class User(Base):
            __tablename__ = "user"
        maker = sessionmaker(create_engine("postgresql://x"), expire_on_commit=False)
        def register(session: Session, user: User):
            session.add(user)
            session.commit()
            requests.get(user.name, timeout=1)
    """,
    "sqlmodel": """
        import requests
        from sqlmodel import Session, select
        def work(session: Session):
            session.exec(select(1))
            requests.get("https://x", timeout=1)  #> CG204 requests.get
    """,
    "a block of the project's own that closes the session": """
        import requests
        from contextlib import contextmanager
        from sqlalchemy import create_engine, text
        from sqlalchemy.orm import Session, sessionmaker
        maker = sessionmaker(create_engine("postgresql://x"))
        @contextmanager
        def closing():
            session = maker()
            try:
                yield session
            finally:
                session.close()
        @contextmanager
        def lending():
            yield maker()
        class Unit:
            def __enter__(self):
                self.session: Session = maker()
                return self.session
            def __exit__(self, *args):
                self.session.close()
        def work():
            with closing() as session:
                session.execute(text("select 1"))
            requests.get("https://x", timeout=1)
            with Unit() as session:
                session.execute(text("select 1"))
            requests.get("https://x", timeout=1)
            with lending() as session:
                session.execute(text("select 1"))
            requests.get("https://x", timeout=1)  #> CG204 requests.get
    """,
}


@pytest.mark.parametrize("code", CASES.values(), ids=CASES.keys())
def test_sessions(code: str, tmp_path: Path) -> None:
    verify(tmp_path, code)
